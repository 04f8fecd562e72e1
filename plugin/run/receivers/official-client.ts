/** The run's own connections to the target, made by `socket.io-client`: the probe's, the sentinel's, the warm-up's. */
import { Manager, type Socket } from 'socket.io-client';
import { CapacityError } from '../../../protocol/errors.ts';
import { EVENTS, type Joined, type Refusal } from '../../../protocol/events.ts';
import { checkOptions, managerOptions } from '../../fleet/official/manager-options.ts';
import type { ConnectionTarget } from '../../script/connection-target.ts';

const CONNECT_TIMEOUT_MS = 10_000;
const NO_ANSWER = `no answer within ${CONNECT_TIMEOUT_MS / 1000} s`;

/**
 * Connects through the target, exactly as the load will. The caller disconnects it.
 * @throws CapacityError TARGET_UNREACHABLE, after 10 s at the latest, or the signal's reason
 */
export async function connectOfficial(connection: ConnectionTarget, signal: AbortSignal): Promise<Socket> {
  const { url, path, namespace, auth } = connection;
  try {
    checkOptions(connection);
  } catch (error) {
    throw unreachable(url, path, error as Error);
  }
  const manager = new Manager(new URL(url.replace(/^ws/, 'http')).origin, managerOptions(connection));
  const socket = manager.socket(namespace, { auth });
  // The client's own timeout covers only the transport; a server can also stay silent after that.
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(CONNECT_TIMEOUT_MS)]);
  const outcome = await new Promise<Error | undefined>((resolve) => {
    socket.once('connect', () => resolve(undefined));
    socket.once('connect_error', resolve);
    deadline.addEventListener('abort', () => resolve(new Error(NO_ANSWER)), { once: true });
    socket.connect();
  });
  if (!outcome) return socket;
  socket.disconnect();
  signal.throwIfAborted();
  throw unreachable(url, path, outcome);
}

/** @throws CapacityError JOIN_REFUSED, or JOIN_TIMEOUT when the server does not know `join_room` */
export async function joinRoom(socket: Socket, room: string): Promise<Joined> {
  const answer = await askToJoin(socket, room);
  const { error, code, fix } = (answer ?? {}) as Partial<Refusal>;
  if (code !== 'JOIN_REFUSED') return answer as Joined;
  throw new CapacityError(
    code,
    `the server refused to join room ${JSON.stringify(room)}: ${error}`,
    fix ?? 'see its log',
  );
}

async function askToJoin(socket: Socket, room: string): Promise<Joined | Refusal> {
  try {
    return await socket.timeout(CONNECT_TIMEOUT_MS).emitWithAck(EVENTS.joinRoom, { clientKey: room });
  } catch {
    throw new CapacityError(
      'JOIN_TIMEOUT',
      `the server did not acknowledge \`${EVENTS.joinRoom}\` from the probe or the reference receiver`,
      'call instrument(io) in the server, which acknowledges this event',
    );
  }
}

function unreachable(target: string, path: string, error: Error & { description?: unknown }): CapacityError {
  const description = error.description as { error?: NodeJS.ErrnoException; message?: string } | undefined;
  const cause = description?.error?.code ?? description?.message ?? error.message;
  const status = /Unexpected server response: (\d+)/.exec(String(description?.message ?? ''))?.[1];
  const code = status ? `http_${status}` : cause;
  const fixes: Record<string, string> = {
    ECONNREFUSED: 'start the server; or remove `control`, so that a run against this machine starts its own stack',
    http_404: `check that it is a Socket.IO server, and that its path is ${path} (config.engines.socketio-capacity.path)`,
    [NO_ANSWER]:
      'a program accepts connections there but does not answer: check that it is a Socket.IO server, and not blocked',
    http_502:
      'the proxy answers, but the workers behind it do not: see their logs (`npx socketio-capacity stack status` names the folder)',
  };
  return new CapacityError(
    'TARGET_UNREACHABLE',
    `no Socket.IO connection to ${target}: ${code}`,
    fixes[code] ?? 'check that the target is a Socket.IO 4 server, and check its path and certificate',
  );
}
