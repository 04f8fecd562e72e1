/**
 * Connects with Socket.IO like each virtual user: with the scenario's transports, namespace and `auth`. Checks that a
 * request for a WebSocket reaches the server through all proxies.
 */

import type { LookupAddress } from 'node:dns';
import { printableLine } from '../../../protocol/base/printable.ts';
import { FINDINGS } from '../../../protocol/codes/finding-codes.ts';
import { connectClient } from '../../run/receivers/connect-client.ts';
import { RefusedError } from '../../run/receivers/explain-failure.ts';
import { joinRoom } from '../../run/receivers/join-room.ts';
import { requestHandshake } from '../../run/receivers/request-handshake.ts';
import type { RunClient } from '../../run/receivers/run-clients.ts';
import type { RunSocket } from '../../run/receivers/run-connection.ts';
import { targetProblem } from '../../run/receivers/target-problem.ts';
import { pollUntil } from '../../run/wait.ts';
import {
  addressText,
  type ExaminedTarget,
  runTargetCheck,
  TARGET_TIMEOUT_MS,
  type TargetCheck,
  type TargetFinding,
} from './target-check.ts';

/** Number of polling sessions to try. Several are needed, because a request reaches a wrong worker only by chance. */
const POLLING_TRIES = 4;
const UPGRADE_MS = 5000;

/**
 * Connects one virtual user.
 * @param room room that the run's probe joins; undefined on a server without control ports
 * @returns the result of the check, and the connection with the values from the user's flow, which later checks use
 */
export async function checkConnect({ connection, clients, signal }: ExaminedTarget, room: string | undefined) {
  const { namespace, transports, auth } = connection;
  const bare = `a connection to namespace ${namespace} with ${transports.join(' and ')}${auth ? ' and the scenario’s auth' : ''}`;
  const tried = clients.areUsers ? 'a client that connects and joins like the scenario’s virtual users' : bare;
  let asUser = connection;
  const connected = await runTargetCheck('connect', tried, async () => {
    const startMs = performance.now();
    try {
      const { socket } = await connectClient(clients.next(), signal);
      const found = `accepted after ${(performance.now() - startMs).toFixed(1)} ms`;
      asUser = socket.target;
      try {
        if (room !== undefined) await joinRoom(socket, room);
        if (transports.length === 1 || !(await staysOnPolling(socket, signal))) return { status: 'ok', found };
      } finally {
        void socket.disconnect();
      }
      const { remedy } = FINDINGS.NOT_UPGRADED;
      return { status: 'warning', found: `${found}, but it stayed on polling`, fix: remedy };
    } catch (error) {
      if (clients.areUsers || room !== undefined || !(error instanceof RefusedError) || !error.dependsOnClient)
        throw error;
      return withoutScenario(error);
    }
  });
  return { connected, asUser };
}

/**
 * Returns whether the connection fails to upgrade from polling to a WebSocket. A proxy may accept direct WebSockets but
 * refuse to upgrade a polling session.
 */
async function staysOnPolling(socket: RunSocket, signal: AbortSignal): Promise<boolean> {
  const isSettled = async () => !(await socket.describe())?.isUpgrading;
  await pollUntil(isSettled, UPGRADE_MS, signal);
  return (await socket.describe())?.transport === 'polling';
}

/**
 * Returns the finding that the server refuses a plain connection, because the server requires values that only virtual
 * users have.
 */
function withoutScenario({ reason, fix }: RefusedError): TargetFinding {
  return {
    status: 'warning',
    found: `the server refused a connection without a virtual user's own values: ${reason}`,
    fix: `${fix}; or name the scenario, so that doctor connects like its virtual users: doctor <scenario> --target <url>`,
  };
}

/** Checks that all polling requests of a session reach the worker that opened the session. */
export async function checkPolling({ connection, clients, signal }: ExaminedTarget): Promise<TargetCheck[]> {
  if (!connection.transports.includes('polling')) return [];
  const poll = async () => {
    const client = clients.nextTemporary();
    const polling = { ...client.connection, transports: ['polling' as const] };
    const { socket } = await connectClient({ ...client, connection: polling }, signal);
    await socket.disconnect();
  };
  const examine = async (): Promise<TargetFinding> => {
    const tries = await Promise.allSettled(Array.from({ length: POLLING_TRIES }, poll));
    const failed = tries.find((attempt) => attempt.status === 'rejected');
    if (failed) throw failed.reason;
    return { status: 'ok', found: 'all requests reached the worker that opened the session' };
  };
  return [
    await runTargetCheck('polling', `${POLLING_TRIES} connections by polling, each of several requests`, examine),
  ];
}

/**
 * Checks each address of the target. If the scenario has virtual users, a new user connects to each address, because a
 * login may be valid for one handshake only. If the user is refused, or without users, an HTTP request shows the
 * server's response.
 */
export async function checkUpgrades({
  connection,
  clients,
  addresses,
  signal,
}: ExaminedTarget): Promise<TargetCheck[]> {
  if (!connection.transports.includes('websocket')) return [];
  const url = new URL(connection.url.replace(/^ws/, 'http'));
  return Promise.all(
    addresses.map((address) =>
      runTargetCheck('websocket', `the upgrade to WebSocket at ${addressText(url, address)}`, async () => {
        if (clients.areUsers && (await accepts(clients.nextTemporary(), address, signal))) {
          return { status: 'ok', found: 'granted to a virtual user' };
        }
        const response = await requestHandshake(connection, 'websocket', { address, timeoutMs: TARGET_TIMEOUT_MS });
        const problem = targetProblem(response);
        if (problem) return { status: 'failed', found: problem.found, fix: problem.fix };
        const by = response.server === undefined ? '' : `, by ${printableLine(String(response.server), 40)}`;
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
