/**
 * Checks whether each broadcast of the server's own event went to all connections, as the ledger assumes. The server
 * may use a different id for each copy, or send to rooms or namespaces. The sets of receivers show both.
 */
import { addSnapshots } from '../../../protocol/link/add-up.ts';
import type { BroadcastBatch } from '../../../protocol/result/delivery-schema.ts';
import type { Result } from '../../../protocol/result/result.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import { connectionsPerWorker } from '../../run/measurements/per-worker.ts';
import { sum } from '../sums.ts';

/** Minimum number of broadcasts to compare. If there are fewer, the different receivers may come from lost copies. */
const MIN_BROADCASTS = 3;
const MIN_MEMBERS = 3;
const NEARLY_ALL = 0.9;
/**
 * Minimum share of the members that a broadcast did not reach. If fewer members receive nothing, their connections are
 * probably broken.
 */
const MIN_LEFT_OUT = 0.1;
/** Minimum share of the incomplete broadcasts that must have missed the same members. */
const MIN_ALIKE = 0.5;

/**
 * Returns the number of broadcast ids that reached only one connection; undefined if most ids reached several
 * connections.
 */
export function idsWithOneReceiver({ ownEvent }: Measurements, batches: BroadcastBatch[]) {
  // An id that the run chose always belongs to one broadcast.
  if (!ownEvent || ownEvent.givesIds) return undefined;
  const several = batches.filter(({ expected }) => expected >= MIN_MEMBERS);
  const ones = several.filter(
    ({ broadcasts, received, unexpected, duplicates }) => received + unexpected + duplicates === broadcasts,
  );
  const [single, of] = [ones, several].map((rows) => sum(rows.map(({ broadcasts }) => broadcasts))) as [number, number];
  return single >= Math.max(MIN_BROADCASTS, NEARLY_ALL * of) ? { single, of } : undefined;
}

/**
 * Finds broadcasts with the same receivers. Random losses do not affect the same connections twice.
 * @returns the largest set of broadcasts that reached the same connections; empty if all sets differ
 */
export function sameAudience({ ownEvent, frozen }: Measurements, batches: BroadcastBatch[]): BroadcastBatch[] {
  if (!ownEvent) return [];
  const partial = batches.filter(isPartial);
  if (partial.length < MIN_BROADCASTS) return [];
  const groups = byAudience(frozen, partial);
  const [largest = []] = groups;
  return groups.flat().length >= MIN_ALIKE * partial.length ? largest : [];
}

function isPartial({ expected, received, lostConnected }: BroadcastBatch): boolean {
  return received > 0 && lostConnected >= Math.max(2, MIN_LEFT_OUT * expected);
}

/** Returns whether a broadcast reached nearly all members. If so, the server sends broadcasts to all connections. */
export function reachesAllMembers(batches: BroadcastBatch[]): boolean {
  return batches.some((batch) => batch.received > 0 && !isPartial(batch));
}

interface Interruption {
  /** All broadcasts from the first incomplete broadcast to the last one. */
  during: BroadcastBatch[];
  /** Broadcasts among `during` that reached the same connections. */
  same: BroadcastBatch[];
  /** Broadcasts before and after `during`, which reached nearly all members. */
  whole: BroadcastBatch[];
}

/**
 * Finds a period in which broadcasts reached only the same connections, or separate groups of connections, while
 * earlier and later broadcasts reached nearly all members. Undefined if complete and incomplete broadcasts alternate,
 * or if no broadcast before the period was complete.
 */
export function audienceInterruption(measurements: Measurements, batches: BroadcastBatch[]): Interruption | undefined {
  const received = batches.filter((batch) => batch.received > 0);
  const [begin, end] = [received.findIndex(isPartial), received.findLastIndex(isPartial)];
  const during = received.slice(begin, end + 1);
  const whole = [...received.slice(0, begin), ...received.slice(end + 1)];
  // If the first broadcasts are incomplete, some connections may not have joined yet.
  if (begin < 1 || !during.every(isPartial)) return undefined;
  const same = sameAudience(measurements, during);
  return same.length > 0 ? { during, same, whole } : undefined;
}

/**
 * Returns the largest set of broadcasts that missed the same open connections; null if the missed connections differ
 * each time.
 */
export function largestUnreachedSet(
  measurements: Measurements,
  batches: BroadcastBatch[],
): NonNullable<Result['delivery']>['unreachedGroup'] {
  const partial = batches.filter(({ received, lostConnected }) => received > 0 && lostConnected > 0);
  const [largest] = byAudience(measurements.frozen, partial);
  const [first] = largest ?? [];
  if (!largest || !first) return null;
  const connections = first.lostConnected;
  const since = batches.filter(({ seq, received }) => seq >= first.seq && received > 0);
  return {
    ...{ broadcasts: largest.length, connections, workers: deafTo(largest, connections, measurements) },
    isLasting: since.every((batch) => largest.includes(batch)),
  };
}

export interface ReceiverGroup {
  connections: number;
  broadcasts: number;
}

/**
 * Finds separate groups of connections: each broadcast reached all connections of one group and none of another group,
 * and the groups together are all members.
 * @returns the groups, the largest first; empty if a broadcast reached all members, or if copies are missing for other
 * reasons
 */
export function separateGroups({ frozen }: Measurements, batches: BroadcastBatch[]): ReceiverGroup[] {
  const reached = batches.filter(({ received, broadcasts }) => received > 0 && broadcasts === 1);
  const [first] = reached;
  if (!first || reached.length < MIN_BROADCASTS) return [];
  const all = [...groupedByAudience(frozen, reached).values()];
  const groups = all.map((rows) => ({ connections: rows[0]?.received ?? 0, broadcasts: rows.length }));
  const isSame = reached.every(({ expected }) => expected === first.expected);
  const isWhole = sum(groups.map(({ connections }) => connections)) === first.expected;
  // If each group received only one broadcast, the groups could be chance.
  if (groups.length < 2 || groups.length >= reached.length || !isSame || !isWhole) return [];
  return groups.toSorted((a, b) => b.connections - a.connections);
}

/**
 * Returns the workers that published none of these broadcasts, if they hold as many connections as the broadcasts
 * missed.
 */
function deafTo(broadcasts: BroadcastBatch[], connections: number, measurements: Measurements): string[] {
  const seqs = new Set(broadcasts.map(({ seq }) => seq));
  const senders = new Set(measurements.sent.flatMap(({ seq, worker }) => (seqs.has(seq) ? [worker] : [])));
  const held = Object.entries(connectionsPerWorker(measurements, addSnapshots(measurements.snapshots)));
  const others = held.filter(([worker]) => !senders.has(worker));
  return sum(others.map(([, count]) => count)) === connections ? others.map(([worker]) => worker) : [];
}

/** Returns sets of two or more broadcasts that reached the same connections, the largest set first. */
function byAudience(frozen: Measurements['frozen'], batches: BroadcastBatch[]): BroadcastBatch[][] {
  const groups = [...groupedByAudience(frozen, batches).values()].filter(({ length }) => length > 1);
  return groups.toSorted((a, b) => b.length - a.length);
}

function groupedByAudience(frozen: Measurements['frozen'], batches: BroadcastBatch[]): Map<string, BroadcastBatch[]> {
  const rows = Map.groupBy(frozen, ({ seq }) => seq);
  return Map.groupBy(batches, ({ seq }) => (rows.get(seq) ?? []).map(({ receivers }) => receivers).join());
}
