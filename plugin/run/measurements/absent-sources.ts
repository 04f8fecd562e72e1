/** Records sources that could not be read when the run needed them. */
import type { Absence } from '../../samplers/index.ts';
import type { Measurements } from './measurements.ts';

/** Name of the control ports among the absent sources. */
export const CONTROL_PORT = 'a control port';

/** Keeps the first absence of each source. */
export function noteAbsent(
  { absentSources }: Pick<Measurements, 'absentSources'>,
  source: string,
  absence: Absence,
): void {
  if (!absentSources.has(source)) absentSources.set(source, absence);
}
