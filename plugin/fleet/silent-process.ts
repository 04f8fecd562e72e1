/** Ledger rows for a fleet process that has died or does not answer. */
import { createHistogram, encodeHistogram } from '../../protocol/histogram.ts';
import type { FreezeOrder, FrozenBroadcast } from '../../protocol/link/ledger.ts';
import { NO_COPIES } from '../../protocol/receipt-columns.ts';
import type { FleetProcess } from './fleet-process.ts';

const NO_LATENCIES = encodeHistogram(createHistogram());

/**
 * The receipts of a process are lost with it, or unreadable while it is stopped. Its members count as lost, not as never
 * expected: otherwise a crash of the generator would not show in the coverage.
 */
export function rowsOfSilentProcess(
  { index, death, status }: FleetProcess,
  broadcasts: FreezeOrder[],
): FrozenBroadcast[] {
  const { atUs, joined } = death ?? { atUs: Number.POSITIVE_INFINITY, joined: status.joined };
  if (joined === 0) return [];
  return broadcasts
    .filter(({ sentAtUs }) => sentAtUs < atUs)
    .map(({ seq }) => ({
      process: index,
      seq,
      ...NO_COPIES,
      expected: joined,
      lostDisconnected: joined,
      earlyByUs: 0,
      receivers: 0,
      latencyUs: { local: NO_LATENCIES, cross: NO_LATENCIES },
      firstUs: 0,
      lastUs: 0,
    }));
}
