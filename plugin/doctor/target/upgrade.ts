/** Checks that a WebSocket upgrade request reaches the server through all proxies in between. */
import type { LookupAddress } from 'node:dns';
import { printable } from '../../../protocol/base/printable.ts';
import { connectClient } from '../../run/receivers/connect-client.ts';
import { requestHandshake } from '../../run/receivers/request-handshake.ts';
import type { RunClient } from '../../run/receivers/run-clients.ts';
import { targetProblem } from '../../run/receivers/target-problem.ts';
import { check, placeOf, type Subject, type TargetCheck, TIMEOUT_MS } from './target-check.ts';

/**
 * Checks each address. If the scenario has users, a new one connects to each, because a login may be valid for one handshake only.
 * If it is refused, or without users, one HTTP request shows the server's response.
 */
export async function checkUpgrades({ connection, clients, addresses, signal }: Subject): Promise<TargetCheck[]> {
  if (!connection.transports.includes('websocket')) return [];
  const url = new URL(connection.url.replace(/^ws/, 'http'));
  return Promise.all(
    addresses.map((address) =>
      check('websocket', `the upgrade to WebSocket at ${placeOf(url, address)}`, async () => {
        if (clients.areUsers && (await accepts(clients.nextTemporary(), address, signal))) {
          return { status: 'ok', found: 'granted to a virtual user' };
        }
        const response = await requestHandshake(connection, 'websocket', { address, timeoutMs: TIMEOUT_MS });
        const problem = targetProblem(response);
        if (problem) return { status: 'failed', found: problem.found, fix: problem.fix };
        const by = response.server === undefined ? '' : `, by ${printable(String(response.server), 40)}`;
        return { status: 'ok', found: `granted${by}` };
      }),
    ),
  );
}

async function accepts(client: RunClient, address: LookupAddress, signal: AbortSignal): Promise<boolean> {
  const connection = { ...client.connection, address, transports: ['websocket' as const] };
  const { socket } = (await connectClient({ ...client, connection }, signal).catch(() => undefined)) ?? {};
  void socket?.disconnect();
  signal.throwIfAborted();
  return socket !== undefined;
}
