/** What a run is called. */
import { basename } from 'node:path';

/** @param scenario as of `scenarioName` */
export function runId(startedAt: Date, scenario: string): string {
  return `${startedAt.toISOString().replace(/[:.]/g, '-').slice(0, 19)}-${scenario}`;
}

/** @returns name of the scenario's file, without its ending */
export function scenarioName(path: string): string {
  return basename(path).replace(/\.(ya?ml|json)$/, '');
}
