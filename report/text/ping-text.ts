/** Limits of the capacity as text, and that of pings in particular, for the console, Markdown and HTML. */
import type { Result } from '../../protocol/result/result.ts';
import { idleCostOf } from '../figures/idle-cpu.ts';
import { decimals, integer, spaced } from './format.ts';

/** @returns `worker file descriptors`; `pings every 25 s` */
export function limitName({ capacity: { pings } }: Result, name: string): string {
  return name === 'pings' && pings ? `pings every ${decimals(pings.intervalMs / 1000, 0)} s` : spaced(name);
}

/** @returns what else there is to say of a limit: `lowest; 95 %: 260,000 to 310,000` */
export function limitNote({ capacity: { lowest, pings } }: Result, name: string): string {
  const interval = name === 'pings' && pings ? [`95 %: ${integer(pings.low95)} to ${integer(pings.high95)}`] : [];
  return [...(name === lowest ? ['lowest'] : []), ...interval].join('; ');
}

/** @returns why there is no limit of pings; null where there is one, or where nobody was idle */
export function noPingLimit(result: Result): string | null {
  const held = result.stages.some(({ name }) => name === 'hold');
  if (!held || result.messages || result.absent.cpu !== undefined) return null;
  const cost = idleCostOf(result);
  return cost.known ? null : cost.why;
}
