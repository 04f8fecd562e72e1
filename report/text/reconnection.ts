/** What happened to connections that dropped while the run reconnects. */
import type { Result } from '../../protocol/result/result.ts';
import { counted, integer, milliseconds } from './format.ts';

/** @returns null where nothing dropped, or the run does not reconnect */
export function reconnectionNote({ connections: { reconnection } }: Result): string | null {
  if (reconnection === null || reconnection.dropped === 0) return null;
  const { dropped, returned, recovered, gaveUp, left, away, awayMs } = reconnection;
  const others = [
    [gaveUp, 'gave up'],
    [left, 'closed while away'],
    [away, 'still away at the end'],
  ] as const;
  const after = awayMs ? ` after ${milliseconds(awayMs.p50)} ms (median; longest ${milliseconds(awayMs.max)} ms)` : '';
  return [
    `${counted(dropped, 'drop')}: ${integer(returned)} returned${after}, ${integer(recovered)} of them with a restored session`,
    ...others.flatMap(([count, what]) => (count > 0 ? [`${integer(count)} ${what}`] : [])),
  ].join('; ');
}
