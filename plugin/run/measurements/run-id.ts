/** Names of runs and scenarios. */
import { basename, isAbsolute } from 'node:path';

/** @param scenario see `scenarioName` */
export function runId(startedAt: Date, scenario: string): string {
  return `${startedAt.toISOString().replace(/[:.]/g, '-').slice(0, 19)}-${scenario}`;
}

/** Returns name of the scenario's file without its extension. */
export function scenarioName(path: string): string {
  return basename(path).replace(/\.(ya?ml|json)$/, '');
}

/** Returns the path as given; for an absolute path, only the file name, as the folders may be private. */
export function scenarioFile(path: string): string {
  return isAbsolute(path) ? basename(path) : path;
}
