/** Copies of events without ids. */
import type { Result } from '../../protocol/result/result.ts';
import { counted, decimals, integer } from '../text/format.ts';
import type { Line } from './line.ts';

export function countedLines({ eventCounts }: Result): Line[] {
  return eventCounts.map(({ event, seconds, receivers, most, fewest, missingAtLeast, missingAtMost }) => {
    const each = most === fewest ? integer(most) : `${integer(fewest)} to ${integer(most)}`;
    const got = `\`${event}\`: ${each} copies for each of ${counted(receivers, 'connection')} in ${decimals(seconds, 1)} s`;
    const missing =
      missingAtLeast > 0
        ? `${integer(missingAtLeast)} to ${integer(missingAtMost)} are missing; which ones is not known`
        : most === 0
          ? 'none came'
          : missingAtMost > 0
            ? 'no more apart than copies under way'
            : 'the same for all';
    return { text: `${got} (counts only: ${missing})` };
  });
}
