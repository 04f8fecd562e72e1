/** Builds the names of runs and scenarios. */
import { basename, isAbsolute } from 'node:path';

/** @param scenario name of the scenario, see `scenarioName` */
export function createRunId(startedAt: Date, scenario: string): string {
  return `${startedAt.toISOString().replace(/[:.]/g, '-').slice(0, 19)}-${scenario}`;
}

/** Returns the name of the scenario's file without its extension. */
export function scenarioName(path: string): string {
  return basename(path).replace(/\.(ya?ml|json)$/, '');
}

/** Returns the scenario's path. Reduces an absolute path to the file name, because folder names may be private. */
export function scenarioFile(path: string): string {
  return isAbsolute(path) ? basename(path) : path;
}
