/** Who got each broadcast. */
import { EVENTS } from '../../protocol/events.ts';
import { AUDIENCE, type ReceiptTotals } from '../../protocol/link.ts';
import { type Batch, RECEIPT_COUNTS, type ReceiptCount } from '../../protocol/result/delivery.ts';
import type { Result } from '../../protocol/result/result.ts';
import { plannedMembers, type RoomPlan, roomName } from '../../protocol/rooms.ts';
import type { Measurements } from '../run/measurements.ts';
import { otherReceivers } from '../run/receivers/other-receivers.ts';
import type { Settings } from '../script/settings.ts';
import { merged, sum } from './sums.ts';

type Receipts = Record<ReceiptCount, number>;

function totals(rows: Receipts[]): Receipts {
  return Object.fromEntries(RECEIPT_COUNTS.map((key) => [key, sum(rows.map((row) => row[key]))])) as Receipts;
}

export function deliveryFigures(
  measurements: Measurements,
  batches: Batch[],
  config: Settings,
): NonNullable<Result['delivery']> {
  const receipts = totals(batches);
  const { ownEvent, frozen } = measurements;
  const counted = (key: keyof ReceiptTotals) => sum(measurements.snapshots.map((snapshot) => snapshot.receipts[key]));
  return {
    ...sourceOf(measurements, config),
    broadcasts: batches.length,
    ...receipts,
    late: counted('late'),
    unreadable: counted('unreadable'),
    // Once the run has finalized its own broadcasts, any other row was never ordered.
    neverOrdered: ownEvent ? 0 : counted('neverOrdered') + (frozen.length > 0 ? counted('open') : 0),
    outside: ownEvent ? counted('neverOrdered') + counted('open') : 0,
    frames: counted('received') + counted('unreadable'),
    coverage: receipts.expected > 0 ? receipts.received / receipts.expected : null,
    coverageOfTarget: ofTarget(measurements, receipts.received, config.rooms),
    rooms: roomsOf(measurements, config.rooms),
    batches,
  };
}

function sourceOf(
  { ownEvent }: Measurements,
  { broadcasts }: Settings,
): Pick<NonNullable<Result['delivery']>, 'source' | 'event' | 'publisher' | 'payloadBytes'> {
  if (!ownEvent) {
    return { source: 'contract', event: EVENTS.broadcast, publisher: 'worker', payloadBytes: broadcasts.bytes };
  }
  const { event, publisher, bytes } = ownEvent;
  return { source: 'own event', event, publisher: publisher === 'run' ? 'run' : null, payloadBytes: bytes };
}

export function batchRows(measurements: Measurements): Batch[] {
  const { sent, frozen } = measurements;
  const rowsOf = Map.groupBy(frozen, ({ seq }) => seq);
  return sent
    .toSorted((a, b) => a.seq - b.seq)
    .map(({ seq, room, expected, intendedAtUs, sentAtUs }) => {
      const rows = rowsOf.get(seq) ?? [];
      const all = merged(rows.flatMap(({ latencyUs }) => [latencyUs.local, latencyUs.cross]));
      const reached = rows.filter(({ received }) => received > 0);
      return {
        seq,
        room: room === AUDIENCE ? null : room,
        serverMembers: otherReceivers({ expected, room, sentAtUs }, measurements),
        ...totals(rows),
        sendDelayMs: (sentAtUs - intendedAtUs) / 1000,
        firstMs: reached.length > 0 ? Math.min(...reached.map(({ firstUs }) => firstUs)) / 1000 : null,
        p50Ms: reached.length > 0 ? all.getValueAtPercentile(50) / 1000 : null,
        p99Ms: reached.length > 0 ? all.getValueAtPercentile(99) / 1000 : null,
        earlyByMs: rows.some(({ early }) => early > 0)
          ? Math.max(...rows.map(({ earlyByUs }) => earlyByUs)) / 1000
          : null,
        lastMs: reached.length > 0 ? Math.max(...reached.map(({ lastUs }) => lastUs)) / 1000 : null,
      };
    });
}

/** Of what all connections of the scenario would have received: one that is gone is no member, and is missing here. */
function ofTarget({ expectedAtOnce, sent }: Measurements, received: number, rooms: RoomPlan): number | null {
  if (!expectedAtOnce) return null;
  const members = new Map(plannedMembers(rooms, expectedAtOnce).map((count, index) => [roomName(rooms, index), count]));
  const all = sum(sent.map(({ room }) => members.get(room) ?? expectedAtOnce));
  return all > 0 ? received / all : null;
}

function roomsOf({ ownEvent, sent }: Measurements, plan: RoomPlan): NonNullable<Result['delivery']>['rooms'] {
  if (ownEvent || plan.count === 1) return null;
  const { name: _, ...rooms } = plan;
  return { ...rooms, reached: new Set(sent.map(({ room }) => room)).size };
}
