/** When a run noticed something, as text and as the window of a finding. */
import { type FindingValue, valuesOf } from '../../../../protocol/result/findings.ts';
import { counted } from '../../../../report/text/format.ts';
import type { Moment } from '../../../run/measurements/observations.ts';

const TEXTS: Record<Moment['at'], (count: number) => string> = {
  begin: () => 'before the load',
  plateau: (count) => (count === 0 ? 'while no connection was open' : `at ${counted(count, 'connection')}`),
  wave: (count) => `after wave ${count}`,
  reading: (count) => `after ${count} s`,
  'before fault': () => 'just before the planned fault',
  'after fault': () => 'after the planned fault',
  broadcasts: () => 'after the broadcasts',
  left: () => 'after all had left',
  stop: () => 'when the run stopped',
};

export function momentText({ at, count = 0 }: Moment): string {
  return TEXTS[at](count);
}

/** @returns the number in the text */
export function momentValues({ at, count = 0 }: Moment): FindingValue[] {
  if (at === 'plateau') return valuesOf({ 'connections of the plateau': count });
  if (at === 'wave') return valuesOf({ wave: count });
  return at === 'reading' ? valuesOf({ 'time of the reading': count }, 's') : [];
}
