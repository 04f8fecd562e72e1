/** When a run noticed something, as text and as the window of a finding. */
import type { Moment } from '../../../run/measurements/observations.ts';

const TEXTS: Record<Moment['at'], (count: number) => string> = {
  begin: () => 'before the load',
  plateau: (count) => `at ${count} connections`,
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
