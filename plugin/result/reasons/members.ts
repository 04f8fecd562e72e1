/** The members of the room as the server counted them at each broadcast, against those of the ledger. */
import type { Reason } from '../../../protocol/codes/verdict-reasons.ts';
import type { Batch } from '../../../protocol/result/delivery.ts';
import type { Result } from '../../../protocol/result/result.ts';

export function* memberProblems({
  connections,
  delivery,
}: Pick<Result, 'connections' | 'delivery'>): Generator<Reason> {
  const batches = delivery?.batches ?? [];
  const ended = endedOf(connections);
  const disagreeing = batches.filter(
    (batch, index) =>
      isShort(batch) || excessOf(batch) > (exceeds(batches[index - 1]) || exceeds(batches[index + 1]) ? 0 : ended),
  );
  const [first] = disagreeing;
  if (!first) return;
  yield {
    code: 'COUNTS_DISAGREE',
    message: `in ${disagreeing.length} of ${batches.length} broadcasts, the server counted ${isShort(first) ? 'fewer' : 'more'} members than the fleet: in broadcast ${first.seq}, ${first.serverMembers} and ${first.expected}`,
    fix: isShort(first)
      ? 'connect all workers by one adapter, which counts the members on each of them; or members left the room: does the server, or a flow, let them?'
      : 'others joined the room: give the run its own, which nothing else joins',
  };
}

/**
 * Who drops is no member to the server before we notice it, nor while it is away: it gets the copy later, or never. Who joins
 * or comes back between the count and the send gets it, too.
 */
function isShort(batch: Batch): boolean {
  const { serverMembers, expected, unexpected, resent, lostDisconnected, justJoined } = batch;
  const least = expected - unexpected - resent - lostDisconnected - justJoined;
  return serverMembers !== null && serverMembers < least;
}

/**
 * Joins in flight are members to the server and not yet to us; they may show as unexpected receipts. Who leaves between the
 * count and the send was a member, and so is who left since the count before, until the server has noticed.
 */
function excessOf({ justLeft, ...batch }: Batch): number {
  return Math.max(0, surplusOf(batch) - justLeft);
}

function surplusOf({ serverMembers, expected, unexpected }: Omit<Batch, 'justLeft'>): number {
  return serverMembers === null ? 0 : Math.max(0, serverMembers - expected - unexpected);
}

function exceeds(batch: Batch | undefined): boolean {
  return batch !== undefined && surplusOf(batch) > 0;
}

/**
 * A server may notice the end of so many later than we do, but has by its next count. After the last broadcast, the workers
 * count all connections once more (WORKERS_DISAGREE).
 */
function endedOf({ disconnects, reconnection }: Result['connections']): number {
  return Object.values(disconnects).reduce((sum, count) => sum + count, reconnection?.dropped ?? 0);
}
