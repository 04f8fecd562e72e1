/** Who got each broadcast. */
import type { ReceiptTotals } from '../../protocol/link.ts';
import { type Batch, RECEIPT_COUNTS, type ReceiptCount, type Result } from '../../protocol/result.ts';
import type { Measurements } from '../run/measurements.ts';
import { isMember } from '../run/receivers/sentinel.ts';
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
  const counted = (key: keyof ReceiptTotals) => sum(measurements.snapshots.map((snapshot) => snapshot.receipts[key]));
  return {
    payloadBytes: config.broadcasts.bytes,
    broadcasts: batches.length,
    ...receipts,
    late: counted('late'),
    unreadable: counted('unreadable'),
    // What is open once the run has finalized its own broadcasts, nobody ordered.
    neverOrdered: counted('neverOrdered') + (measurements.frozen.length > 0 ? counted('open') : 0),
    frames: counted('received') + counted('unreadable'),
    coverage: receipts.expected > 0 ? receipts.received / receipts.expected : null,
    batches,
  };
}

/** By the server's count. The probe and the sentinel are members, too, and keep no ledger. */
export function otherReceivers(
  { expected, sentAtUs }: Pick<Measurements['sent'][number], 'expected' | 'sentAtUs'>,
  sentinel: Measurements['sentinel'],
): number {
  return Math.max(0, expected - 1 - (isMember(sentinel, sentAtUs) ? 1 : 0));
}

export function batchRows({ sent, frozen, sentinel }: Measurements): Batch[] {
  const pages = Map.groupBy(frozen, ({ seq }) => seq);
  return sent
    .toSorted((a, b) => a.seq - b.seq)
    .map(({ seq, expected, intendedAtUs, sentAtUs }) => {
      const rows = pages.get(seq) ?? [];
      const all = merged(rows.flatMap(({ latencyUs }) => [latencyUs.local, latencyUs.cross]));
      const reached = rows.filter(({ received }) => received > 0);
      return {
        seq,
        serverMembers: otherReceivers({ expected, sentAtUs }, sentinel),
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
