/** Builds the figures of the broadcasts and of the connections that received them. */

import { decodeHistogram, type Histogram } from '../../../protocol/base/histogram.ts';
import { addSnapshots } from '../../../protocol/link/add-up.ts';
import type { LossTotals } from '../../../protocol/link/ledger-messages.ts';
import { type BroadcastBatch, RECEIPT_COUNTS, type ReceiptCount } from '../../../protocol/result/delivery-schema.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { CONTRACT_EVENTS } from '../../../protocol/wire/events.ts';
import {
  ALL_RECEIVERS_ROOM,
  parseRoomKey,
  plannedRoomSizes,
  type RoomPlan,
  roomName,
} from '../../../protocol/wire/rooms.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import { membersWithoutOwnClients, uncertainOwnMembers } from '../../run/receivers/members-without-own-clients.ts';
import type { Settings } from '../../script/settings.ts';
import { mergeToHistogram, sum } from '../sums.ts';
import { idsWithOneReceiver, largestUnreachedSet } from './audience.ts';

type Receipts = Record<ReceiptCount, number>;

function totals(rows: Pick<BroadcastBatch, ReceiptCount>[]): Receipts {
  return Object.fromEntries(RECEIPT_COUNTS.map((key) => [key, sum(rows.map((row) => row[key] ?? 0))])) as Receipts;
}

export function deliveryFigures(
  measurements: Measurements,
  batches: BroadcastBatch[],
  config: Settings,
): NonNullable<Result['delivery']> {
  const receipts = totals(batches);
  const { ownEvent, frozen, sent, unknown } = measurements;
  const notLookedAt = notLookedAtOf(measurements, config);
  const areBroadcasts = idsWithOneReceiver(measurements, batches) === undefined;
  const { late, unreadable, unknownBroadcast, open, received, losses } = addSnapshots(measurements.snapshots).receipts;
  return {
    ...sourceOf(measurements, config),
    broadcasts: sum(batches.map((batch) => batch.broadcasts)),
    unconfirmed: ownEvent ? null : sent.filter((one) => one.unconfirmed).length,
    unknown: ownEvent ? null : unknown.length,
    ...receipts,
    ...notLookedAt,
    late,
    unreadable,
    // After the run has finalized all broadcasts that it sent, the remaining ledger rows belong to broadcasts that it
    // did not send.
    unknownBroadcast: ownEvent ? null : unknownBroadcast + (frozen.length > 0 ? open : 0),
    outside: ownEvent ? unknownBroadcast + open : null,
    frames: received + unreadable,
    coverage: receipts.expected > 0 && areBroadcasts ? receipts.received / receipts.expected : null,
    coverageOfTarget: areBroadcasts ? ofTarget(measurements, receipts.received, config.rooms) : null,
    rooms: roomsOf(measurements, config.rooms),
    unreachedGroup: areBroadcasts ? largestUnreachedSet(measurements, batches) : null,
    losses: areBroadcasts ? spreadOf(losses) : null,
    batches: batches.map((batch) => ({ ...batch, ...notLookedAt })),
  };
}

/**
 * Columns that the run cannot check for the server's own event: the server chooses contents and order of the
 * broadcasts, and may send broadcasts that the run did not trigger.
 */
function notLookedAtOf({ ownEvent }: Measurements, { delivery }: Settings) {
  if (!ownEvent) return {};
  return {
    ...{ reordered: null, wrongContent: null, justJoined: null, justLeft: null },
    ...(delivery?.bytes === undefined && { wrongSize: null }),
    ...(ownEvent.latencyFrom === 'first receipt' && { early: null }),
  };
}

function spreadOf({
  lost,
  expected,
  startedUs,
  unstartedUs,
  ...counts
}: LossTotals): NonNullable<Result['delivery']>['losses'] {
  if (counts.losers === 0) return null;
  const others = decodeHistogram(lost);
  const copiesAt = (percentile: number) => (others.totalCount > 0 ? others.getValueAtPercentile(percentile) : 0);
  const [fewest, median, most] = [copiesAt(0), copiesAt(50), copiesAt(100)];
  const [started, unstarted] = [startedUs, unstartedUs].map(decodeHistogram) as [Histogram, Histogram];
  const seconds = (us: number) => us / 1e6;
  return {
    ...{ ...counts, fewest, median, most, broadcasts: decodeHistogram(expected).maxValue },
    started:
      started.totalCount === 0
        ? null
        : {
            connections: started.totalCount,
            fromSeconds: seconds(started.getValueAtPercentile(0)),
            toSeconds: seconds(started.maxValue),
            unstartedSeconds: unstarted.totalCount === 0 ? 0 : seconds(unstarted.maxValue),
          },
  };
}

/**
 * Returns the numbers of the broadcasts whose ledger rows are not finalized because the run ended early. It is unknown
 * which connections received these broadcasts.
 */
export function unfinalizedBroadcasts({ aborted, sent, frozen }: Measurements): Set<number> {
  if (!aborted) return new Set();
  const finalized = new Set(frozen.map(({ seq }) => seq));
  return new Set(sent.map(({ seq }) => seq).filter((seq) => !finalized.has(seq)));
}

function sourceOf(
  { ownEvent }: Measurements,
  { broadcasts }: Settings,
): Pick<NonNullable<Result['delivery']>, 'source' | 'event' | 'publisher' | 'payloadBytes' | 'binary'> {
  if (!ownEvent) {
    const { bytes: payloadBytes, binary } = broadcasts;
    return { source: 'contract', event: CONTRACT_EVENTS.broadcast, publisher: 'worker', payloadBytes, binary };
  }
  const { event, publisher, bytes } = ownEvent;
  const ofRun = publisher === 'run' ? publisher : null;
  return { source: 'own event', event, publisher: ofRun, payloadBytes: bytes, binary: false };
}

export function batchRows(measurements: Measurements): BroadcastBatch[] {
  const { sent, frozen, samplesBeganAtUs: beganAtUs } = measurements;
  const rowsOf = Map.groupBy(frozen, ({ seq }) => seq);
  return sent
    .toSorted((a, b) => a.seq - b.seq)
    .map((one) => {
      const { seq, room, intendedAtUs, sentAtUs, broadcasts = 1 } = one;
      const timedFromUs = one.latencyFromAtUs ?? Math.min(sentAtUs, intendedAtUs);
      const rows = rowsOf.get(seq) ?? [];
      const counts = totals(rows);
      const own = uncertainOwnMembers(one, measurements);
      const all = mergeToHistogram(rows.flatMap(({ latencyUs }) => [latencyUs.local, latencyUs.cross]));
      const reached = rows.filter(({ received, untimed }) => received > 0 && !untimed);
      return {
        seq,
        broadcasts,
        room: shown(room),
        serverMembers: membersWithoutOwnClients(one, measurements),
        ...counts,
        justJoined: counts.justJoined + own.after,
        justLeft: counts.justLeft + own.before,
        // Time on the time axis of the samples, in seconds.
        t: beganAtUs === undefined ? null : Math.round((intendedAtUs - beganAtUs) / 1000) / 1000,
        sendDelayMs: one.unconfirmed ? null : (sentAtUs - intendedAtUs) / 1000,
        firstMs: reached.length > 0 ? Math.min(...reached.map(({ firstUs }) => firstUs)) / 1000 : null,
        p50Ms: percentileMs(all, 50, reached),
        p99Ms: percentileMs(all, 99, reached),
        earlyByMs: rows.some(({ early }) => early > 0)
          ? Math.max(...rows.map(({ earlyByUs }) => earlyByUs)) / 1000
          : null,
        lastMs: reached.length > 0 ? lastOf(reached) / 1000 : null,
        dueToLastMs: reached.length > 0 ? (timedFromUs - intendedAtUs + lastOf(reached)) / 1000 : null,
      };
    });
}

/** Returns the name of a room for reports; null if the broadcast went to a whole namespace. */
function shown(place: string): string | null {
  const { namespace, room } = parseRoomKey(place);
  if (room === ALL_RECEIVERS_ROOM) return null;
  return namespace === '/' ? room : `${namespace},${room}`;
}

/**
 * Returns a percentile of the latency in milliseconds. It is at most the latency of the last receipt, because a
 * histogram rounds up.
 * @returns null if there are too few receivers for the percentile
 */
function percentileMs(all: Histogram, percentile: number, reached: { lastUs: number }[]): number | null {
  if (reached.length === 0 || all.totalCount * (100 - percentile) < 100) return null;
  return Math.min(all.getValueAtPercentile(percentile), lastOf(reached)) / 1000;
}

function lastOf(reached: { lastUs: number }[]): number {
  return Math.max(...reached.map(({ lastUs }) => lastUs));
}

/** Returns the received copies as a share of the copies that all planned connections would have received. */
function ofTarget(measurements: Measurements, received: number, rooms: RoomPlan): number | null {
  const { expectedAtOnce, sent, ownEvent } = measurements;
  // For the server's own event, the sizes of its rooms are unknown.
  const receivers = new Set(sent.map(({ room }) => room));
  if (ownEvent && (receivers.size > 1 || ![...receivers].every((room) => shown(room) === null))) return null;
  if (!expectedAtOnce || unfinalizedBroadcasts(measurements).size > 0) return null;
  const members = new Map(
    plannedRoomSizes(rooms, expectedAtOnce).map((count, index) => [roomName(rooms, index), count]),
  );
  const all = sum(sent.map(({ room, broadcasts = 1 }) => (members.get(room) ?? expectedAtOnce) * broadcasts));
  return all > 0 ? received / all : null;
}

function roomsOf({ ownEvent, sent }: Measurements, plan: RoomPlan): NonNullable<Result['delivery']>['rooms'] {
  if (ownEvent || plan.count === 1) return null;
  const { name: _, ...rooms } = plan;
  return { ...rooms, reached: new Set(sent.map(({ room }) => room)).size };
}

/**
 * Allowed time in seconds, at the start and the end of the count together. In this time, connections are read one after
 * the other and copies may still be on the way.
 */
const EDGE_SECONDS = 0.5;

export function eventCountFigures({ eventCounts }: Measurements): Result['eventCounts'] {
  if (!eventCounts) return [];
  const { seconds, counts, counters, fromUsers } = eventCounts;
  const byEvent = Map.groupBy(counts, ({ event }) => event);
  return [...byEvent].map(([event, parts]) => {
    const all = parts.flatMap(({ byCount }) => byCount);
    const most = Math.max(0, ...all.map(([copies]) => copies));
    const fewest = Math.min(most, ...all.map(([copies]) => copies));
    const isFromUsers = fromUsers.includes(event);
    const sent = isFromUsers ? sum(parts.map((part) => part.sent)) : (counters[event] ?? null);
    const base = sent ?? most;
    const tolerated = 1 + Math.ceil((base / seconds) * EDGE_SECONDS);
    // A connection that received more copies than all other connections sent messages also received copies of its own
    // messages.
    const echoes = !isFromUsers || all.some(([copies, own]) => copies > base - own + tolerated);
    const missing = (allowed: number) =>
      sum(all.map(([copies, own, of]) => of * Math.max(0, base - (echoes ? 0 : own) - copies - allowed)));
    return {
      ...{ event, seconds, sent, most, fewest },
      receivers: sum(all.map(([, , of]) => of)),
      copies: sum(all.map(([copies, , of]) => of * copies)),
      missingAtLeast: missing(tolerated),
      missingAtMost: missing(0),
    };
  });
}
