/** What a run is called. */
import { basename, isAbsolute } from 'node:path';

/** @param scenario as of `scenarioName` */
export function runId(startedAt: Date, scenario: string): string {
  return `${startedAt.toISOString().replace(/[:.]/g, '-').slice(0, 19)}-${scenario}`;
}

/** @returns name of the scenario's file, without its ending */
export function scenarioName(path: string): string {
  return basename(path).replace(/\.(ya?ml|json)$/, '');
}

/** @returns the path as in the command; of an absolute one, whose folders are nobody else's business, only the file */
export function scenarioFile(path: string): string {
  return isAbsolute(path) ? basename(path) : path;
}
