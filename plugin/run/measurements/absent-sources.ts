/** Records which sources of figures could not be read when the run needed them. */
import type { SourceAbsence } from '../../samplers/index.ts';
import type { Measurements } from './measurements.ts';

/** Name of the control ports in the list of unreadable sources. */
export const CONTROL_PORT = 'a control port';

/** Records why a source could not be read. Keeps the first reason of each source. */
export function recordAbsentSource(
  { absentSources }: Pick<Measurements, 'absentSources'>,
  source: string,
  absence: SourceAbsence,
): void {
  if (!absentSources.has(source)) absentSources.set(source, absence);
}
