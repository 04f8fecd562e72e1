/** Received copies of events without ids. */
import type { Result } from '../../protocol/result/result.ts';
import { counted, decimals, integer } from '../text/format.ts';
import type { Line } from './line.ts';

export function countedLines({ eventCounts }: Result): Line[] {
  return eventCounts.map(({ event, seconds, receivers, sent, most, fewest, missingAtLeast, missingAtMost }) => {
    const each = most === fewest ? integer(most) : `${integer(fewest)} to ${integer(most)}`;
    const got = `\`${event}\`: ${each} copies for each of ${counted(receivers, 'connection')} in ${decimals(seconds, 1)} s`;
    const missing =
      missingAtLeast > 0
        ? `${integer(missingAtLeast)} to ${integer(missingAtMost)} are missing, without ids to tell which`
        : most === 0
          ? 'none received'
          : missingAtMost > 0
            ? 'differences are within copies in flight'
            : 'the same for all';
    const base =
      sent === null
        ? '; compared with the connection that got most, so a copy that reached none is not missed'
        : `; compared with ${counted(sent, 'message')}`;
    return { text: `${got} (counts only: ${missing}${base})` };
  });
}
