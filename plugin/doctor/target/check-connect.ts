/** Socket.IO's own connect, as each virtual user makes it: with the scenario's transports, namespace and `auth`. */
import { FINDINGS } from '../../../protocol/codes/finding-codes.ts';
import { connectClient } from '../../run/receivers/connect-client.ts';
import { Refused } from '../../run/receivers/explain-failure.ts';
import { joinRoom } from '../../run/receivers/join-room.ts';
import type { RunSocket } from '../../run/receivers/run-connection.ts';
import { until } from '../../run/wait.ts';
import { check, type Finding, type Subject, type TargetCheck } from './target-check.ts';

/** Their requests reach a wrong worker by chance. */
const POLLING_TRIES = 4;
const UPGRADE_MS = 5000;

/** @param room that the run's probe joins on a server with control ports @returns the check, and how a virtual user is connected, with what the flow has brought: that is what others have to try */
export async function checkConnect({ connection, clients, signal }: Subject, room: string | undefined) {
  const { namespace, transports, auth } = connection;
  const bare = `a connection to namespace ${namespace} with ${transports.join(' and ')}${auth ? ' and the scenario’s auth' : ''}`;
  const tried = clients.areUsers ? 'a client that connects like the scenario’s virtual users, up to its join' : bare;
  let asUser = connection;
  const connected = await check('connect', tried, async () => {
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
      if (clients.areUsers || room !== undefined || !(error instanceof Refused) || !error.dependsOnClient) throw error;
      return withoutScenario(error);
    }
  });
  return { connected, asUser };
}

/** A request for a WebSocket of a session can be refused where one of its own is not. */
async function staysOnPolling(socket: RunSocket, signal: AbortSignal): Promise<boolean> {
  const isSettled = async () => !(await socket.describe())?.isUpgrading;
  await until(isSettled, UPGRADE_MS, signal);
  return (await socket.describe())?.transport === 'polling';
}

/** Only a virtual user has what such a server asks for. */
function withoutScenario({ reason, fix }: Refused): Finding {
  return {
    status: 'warning',
    found: `the server refused a connection without a virtual user's own values: ${reason}`,
    fix: `${fix}; or name the scenario, so that doctor connects like its virtual users: doctor <scenario> --target <url>`,
  };
}

/** Where the scenario polls, all requests of a session have to reach the worker that opened it. */
export async function checkPolling({ connection, clients, signal }: Subject): Promise<TargetCheck[]> {
  if (!connection.transports.includes('polling')) return [];
  const poll = async () => {
    const client = clients.nextTemporary();
    const polling = { ...client.connection, transports: ['polling' as const] };
    const { socket } = await connectClient({ ...client, connection: polling }, signal);
    await socket.disconnect();
  };
  const examine = async (): Promise<Finding> => {
    const tries = await Promise.allSettled(Array.from({ length: POLLING_TRIES }, poll));
    const failed = tries.find((one) => one.status === 'rejected');
    if (failed) throw failed.reason;
    return { status: 'ok', found: 'all stayed with the worker that opened them' };
  };
  return [await check('polling', `${POLLING_TRIES} connections by polling, each of several requests`, examine)];
}
