/**
 * Computes the final counts of one broadcast. Every expected receiver and every copy is counted in exactly one column.
 */
import { createHistogram, encodeHistogram, recordUs } from '../../../../protocol/base/histogram.ts';
import type { FreezeRequest, FrozenBroadcast } from '../../../../protocol/link/ledger-messages.ts';
import type { MemberLosses, MembershipGap, RoomMembers } from './members.ts';

export interface BroadcastRow {
  firstAtUs: number;
  /**
   * Receive times by slot, the connection's index in the ledger: microseconds since the first receipt, plus one; 0 for
   * no receipt.
   */
  sinceFirstUs: Uint32Array;
  /** Number of received copies of this broadcast, including duplicates. */
  copies: number;
  duplicates: number;
  reordered: number;
  wrongSize: number;
  wrongContent: number;
  /** Checksum of the payload in the first complete copy. */
  checksum: number;
}

const NEVER = Number.POSITIVE_INFINITY;
/**
 * Shortest time in microseconds after the send during which a copy can be in flight. The time is longer if the last
 * receiver took longer.
 */
const MIN_FLIGHT_US = 1e6;
const NOTHING = new Uint32Array(0);

/**
 * Returns the final counts of a broadcast.
 * @param row receipts of the broadcast; undefined if there were none
 * @param highestSeq highest received sequence number by slot
 * @param losses losses of all broadcasts, to which the losses of this broadcast are added
 */
export function finalBroadcastAccount(
  order: FreezeRequest,
  row: BroadcastRow | undefined,
  members: RoomMembers,
  highestSeq: Uint32Array,
  losses: MemberLosses,
): Omit<FrozenBroadcast, 'process'> {
  const strays = straysOf(order, row, members);
  const { receipts, notMember, early, earlyByUs, lastAtUs } = strays;
  const arrivedByUs = Math.max(lastAtUs, order.sentAtUs + MIN_FLIGHT_US);
  const audience = audienceOf(order, row, members, highestSeq, losses, arrivedByUs);
  return {
    seq: order.seq,
    ...audience,
    unexpected: receipts - audience.received - notMember,
    notMember,
    duplicates: row?.duplicates ?? 0,
    reordered: row?.reordered ?? 0,
    wrongSize: row?.wrongSize ?? 0,
    wrongContent: row?.wrongContent ?? 0,
    early,
    earlyByUs,
  };
}

/**
 * Returns the number of receipts, the number of receipts by connections outside the room, the number of receipts before
 * the send time, and the time of the last receipt.
 */
function straysOf({ room, sentAtUs }: FreezeRequest, row: BroadcastRow | undefined, members: RoomMembers) {
  const joined = members.of(room);
  const aheadUs = sentAtUs - (row?.firstAtUs ?? NEVER);
  const strays = { receipts: 0, notMember: 0, early: 0, earlyByUs: 0, lastAtUs: 0 };
  const sinceFirstUs = row?.sinceFirstUs ?? NOTHING;
  for (let slot = 0; slot < sinceFirstUs.length; slot++) {
    const stored = sinceFirstUs[slot] as number;
    if (stored === 0) continue;
    strays.receipts++;
    strays.lastAtUs = Math.max(strays.lastAtUs, (row?.firstAtUs ?? 0) + stored - 1);
    if (!joined?.has(slot) && !members.isJoining(slot)) strays.notMember++;
    const byUs = aheadUs - stored + 1;
    if (byUs <= 0) continue;
    strays.early++;
    strays.earlyByUs = Math.max(strays.earlyByUs, byUs);
  }
  return strays;
}

/**
 * Counts the connections that were members of the room at the send time, with their receipts and losses.
 * @param arrivedByUs time by which every copy that was not lost had arrived
 */
function audienceOf(
  order: FreezeRequest,
  row: BroadcastRow | undefined,
  members: RoomMembers,
  highestSeq: Uint32Array,
  losses: MemberLosses,
  arrivedByUs: number,
) {
  const isTimed = order.latencyFromAtUs !== null;
  const sinceFirstUs = row?.sinceFirstUs ?? NOTHING;
  const local = createHistogram();
  const cross = createHistogram();
  const counts = {
    expected: 0,
    received: 0,
    lostConnected: 0,
    lostDisconnected: 0,
    missed: 0,
    resent: 0,
    justJoined: 0,
    justLeft: 0,
    receivers: 0,
  };
  const { sentAtUs, orderedAtUs = sentAtUs, previousAtUs = orderedAtUs, worker: publisher = '' } = order;
  // Latency is measured from the intended send time, or from the actual send time if the worker sent the broadcast too
  // early.
  const fromUs = order.latencyFromAtUs ?? Math.min(sentAtUs, order.intendedAtUs);
  const firstLatencyUs = (row?.firstAtUs ?? 0) - fromUs;
  let firstUs = NEVER;
  let lastUs = 0;
  let isUnplaced = false;
  for (const [slot, joinedAtUs] of members.of(order.room) ?? []) {
    const leftAtUs = members.leftAtUs(slot) ?? NEVER;
    if (joinedAtUs >= sentAtUs) continue;
    if (leftAtUs < sentAtUs) {
      if (leftAtUs >= previousAtUs) counts.justLeft++;
      continue;
    }
    const stored = sinceFirstUs[slot] ?? 0;
    const wasClosed = members.wasClosedByUser(slot);
    // If a virtual user closes its connection, copies may still be in flight. These copies count as neither received
    // nor lost.
    if (stored === 0 && wasClosed && leftAtUs <= arrivedByUs) {
      counts.justLeft++;
      continue;
    }
    counts.expected++;
    const absences = members.absences(slot);
    const receivedAtUs = stored === 0 ? undefined : (row?.firstAtUs ?? 0) + stored - 1;
    let mayBeUncounted = joinedAtUs >= orderedAtUs || wasAway(absences, orderedAtUs, sentAtUs);
    if (absences !== undefined) {
      if (keptAway(absences, sentAtUs, receivedAtUs)) {
        mayBeUncounted = false;
        counts.missed++;
        if (stored > 0) counts.resent++;
        else {
          counts.lostDisconnected++;
          losses.add(slot, false, sentAtUs - joinedAtUs);
          continue;
        }
      }
    }
    if (stored === 0) {
      // The copy counts as lost on an open connection if the connection stayed open, or has received a later broadcast.
      const isOpen = leftAtUs === NEVER || wasClosed || (highestSeq[slot] ?? 0) > order.seq;
      losses.add(slot, isOpen, sentAtUs - joinedAtUs);
      if (isOpen) {
        counts.lostConnected++;
        if (mayBeUncounted) counts.justJoined++;
      } else counts.lostDisconnected++;
      continue;
    }
    counts.received++;
    losses.add(slot, false, sentAtUs - joinedAtUs);
    if (mayBeUncounted) counts.justJoined++;
    counts.receivers = (counts.receivers + mixed(slot)) >>> 0;
    if (!isTimed) continue;
    const us = Math.max(0, firstLatencyUs + stored - 1);
    if (us < firstUs) firstUs = us;
    if (us > lastUs) lastUs = us;
    const worker = members.workerAt(slot, receivedAtUs as number);
    const isLocal = worker === publisher;
    if (!isLocal && (worker === '' || publisher === '')) isUnplaced = true;
    recordUs(isLocal ? local : cross, us);
  }
  return {
    ...counts,
    latencyUs: { local: encodeHistogram(local), cross: encodeHistogram(cross) },
    firstUs: firstUs === NEVER ? 0 : firstUs,
    lastUs,
    ...(isTimed ? {} : { untimed: true as const }),
    ...(isUnplaced && { unplaced: true as const }),
  };
}

/**
 * Returns whether a dropped connection explains why the copy was late or lost: the copy arrived after a reconnect, or
 * was sent while the connection was dropped and never arrived.
 * @param receivedAtUs receive time; undefined if it never arrived
 */
function keptAway(absences: readonly MembershipGap[], sentAtUs: number, receivedAtUs: number | undefined): boolean {
  const atUs = receivedAtUs ?? sentAtUs;
  return absences.some(({ fromUs, untilUs }) => fromUs <= atUs && atUs <= untilUs);
}

function wasAway(absences: readonly MembershipGap[] | undefined, fromUs: number, untilUs: number): boolean {
  return absences?.some((absence) => absence.fromUs < untilUs && fromUs <= absence.untilUs) ?? false;
}

/** Returns a hash of the slot (finalizer of MurmurHash3). Sums of hashes differ for different sets of slots. */
function mixed(slot: number): number {
  const first = Math.imul((slot + 1) ^ ((slot + 1) >>> 16), 0x85ebca6b);
  const second = Math.imul(first ^ (first >>> 13), 0xc2b2ae35);
  return second ^ (second >>> 16);
}
