/** Latency against connections as a table. */
import type { Result } from '../../protocol/result/result.ts';
import { integer, milliseconds } from './format.ts';

export const BY_CONNECTIONS_HEAD = ['Connections', 'Broadcasts', 'Receipts', 'One way p50', 'Completion p50', 'Max'];

/** Empty where the run had broadcasts with all connections only. */
export function byConnectionsRows({ latency: { byConnections } }: Result): string[][] {
  return byConnections.map(({ connections, broadcasts, expected, received, oneWayMs, completionMs }) => [
    integer(connections),
    integer(broadcasts),
    received === expected ? 'all' : `${integer(received)} of ${integer(expected)}`,
    ...[oneWayMs?.p50, completionMs?.p50, completionMs?.max].map((ms) => (ms === undefined ? '–' : milliseconds(ms))),
  ]);
}
