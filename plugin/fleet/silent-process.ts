/** Ledger rows for a fleet process that has died or does not answer. */
import { emptyRow, type FreezeOrder, type FrozenBroadcast } from '../../protocol/link/ledger.ts';
import type { FleetProcess } from './fleet-process.ts';

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
    .map(({ seq }) => ({ ...emptyRow(seq), process: index, expected: joined, lostDisconnected: joined }));
}
