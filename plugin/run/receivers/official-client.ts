/** The run's own connections to the target, made by `socket.io-client`: the probe's, the sentinel's, the warm-up's. */
import { addAbortListener } from 'node:events';
import { Manager, type Socket } from 'socket.io-client';
import { onceClosed } from '../../../protocol/client-ends.ts';
import { CapacityError } from '../../../protocol/errors.ts';
import { EVENTS, type Joined, type Refusal } from '../../../protocol/events.ts';
import { guardClient } from '../../../protocol/guard-client.ts';
import { printable } from '../../../protocol/printable.ts';
import { withoutSecrets } from '../../../protocol/secrets/known-secrets.ts';
import { allSecretsIn } from '../../../protocol/secrets/masked-values.ts';
import { type Failure, NO_UPGRADE } from '../../fleet/client/failure.ts';
import { requireShallow } from '../../fleet/client/nesting.ts';
import { endFailure, failureOf } from '../../fleet/official/failure.ts';
import { checkOptions, managerOptions } from '../../fleet/official/manager-options.ts';
import { nameOf } from '../../fleet/server-name.ts';
import type { ConnectionTarget } from '../../script/connection-target.ts';
import { NOT_SOCKETIO } from './http-refusals.ts';
import { lookAt } from './look-at-target.ts';
import { OLD_SERVER, recognize, type Seen } from './what-answers.ts';

export { closeOf } from '../../fleet/official/failure.ts';

const CONNECT_TIMEOUT_MS = 10_000;
/** Characters of what the server says when it refuses. */
const MAX_REASON_LENGTH = 300;
const NO_ANSWER = `no answer within ${CONNECT_TIMEOUT_MS / 1000} s`;

type Listener = (event: string, ...args: unknown[]) => void;

/** As Engine.IO's open packet gives it. */
export interface PingCycle {
  pingInterval: number;
  pingTimeout: number;
}

export interface Listeners {
  /** Gets all events, also those that the server sends at once. */
  onAny?: Listener | undefined;
  /** Gets the acknowledgements of events for which the run asks for one. */
  onAck?: ((event: string, args: unknown[]) => void) | undefined;
  onOpen?: ((cycle: PingCycle) => void) | undefined;
}

/**
 * Connects through the target, exactly as the load will. The caller disconnects it.
 * @throws CapacityError TARGET_UNREACHABLE, after 10 s at the latest, or the signal's reason
 */
export async function connectOfficial(
  connection: ConnectionTarget,
  signal: AbortSignal,
  { onAny, onOpen }: Listeners = {},
  carrier?: Manager,
): Promise<Socket> {
  const { url, namespace, auth } = connection;
  try {
    checkOptions(connection);
  } catch (error) {
    throw notConnected(url, (error as Error).message);
  }
  const origin = new URL(url.replace(/^ws/, 'http')).origin;
  const manager = carrier ?? guardClient(new Manager(origin, managerOptions(connection)), { inspect: requireShallow });
  const socket = manager.socket(namespace, { auth });
  socket.onAny((...received: unknown[]) => acknowledge(connection, received.at(-1)));
  if (onAny) socket.onAny(onAny);
  let isOpen = carrier !== undefined;
  let stopWaiting = () => {};
  const wire: Wire = {};
  const connecting = new Promise<ClientError | undefined>((resolve) => {
    const giveUp = () => resolve(isOpen ? neverAnswered(connection, manager) : new Error(NO_ANSWER));
    // The client's own timeout covers only the transport; a server can also stay silent after that. This timer also keeps the
    // process alive, which nothing else does once the server has closed the connection.
    const timer = setTimeout(giveUp, CONNECT_TIMEOUT_MS);
    const aborted = addAbortListener(signal, giveUp);
    stopWaiting = () => {
      clearTimeout(timer);
      aborted[Symbol.dispose]();
    };
    socket.once('connect', () => resolve(undefined));
    socket.once('connect_error', (error) => {
      const isOther = /v2\.x/.test(error.message) && wire.maxPayload !== undefined;
      resolve(isOther ? notSocketIo(connection, wire) : withAnswer(error));
    });
    socket.connect();
    onceClosed(socket, (reason, details) => {
      const isPolling = manager.engine.transport.name === 'polling';
      if (isOpen) resolve(closedEarly(connection, { isPolling, reason, details, wire }));
      else resolve(new Error('the server closed the connection before its handshake'));
    });
    manager.engine.on('packet', ({ type, data }) => {
      if (type === 'message') wire.message = data;
    });
    // Its types hide what the open packet says.
    manager.engine.once('handshake', (open) => {
      isOpen = true;
      wire.maxPayload = (open as { maxPayload?: unknown }).maxPayload;
      onOpen?.(open as unknown as PingCycle);
    });
  });
  // Thrown for a query that no URL can have.
  const failure = await connecting.catch((error: Error) => notConnected(url, error.message));
  stopWaiting();
  if (!failure) return socket;
  socket.disconnect();
  signal.throwIfAborted();
  throw failure instanceof CapacityError ? failure : await unreachable(connection, failure);
}

const OF_SCENARIO =
  'see why: the run’s own clients play the first scenario up to its join, with the last rows of the payload; the option `clients` names another scenario';

/** The server refused a connection of the run's own clients, or a step of the flow that leads to it failed. */
export class Refused extends CapacityError {
  /** In the server's words. */
  readonly said: string;

  constructor(target: string, said: string, fix = OF_SCENARIO) {
    super('TARGET_UNREACHABLE', `no Socket.IO connection to ${target}: the server refused it: ${said}`, fix);
    this.said = said;
  }
}

/** The server speaks a protocol that no option makes the clients speak. */
export class Unsupported extends CapacityError {
  constructor(target: string) {
    super('TARGET_UNREACHABLE', `${OLD_SERVER.found}: ${target}`, OLD_SERVER.fix);
  }
}

/** The server takes connections by polling only. */
export class NoWebSocket extends CapacityError {}

/** Data that a server sent before it opened the namespace. */
interface Wire {
  /** `maxPayload` of an Engine.IO 4 handshake; Socket.IO 2 servers send none. */
  maxPayload?: unknown;
  /** Payload of the last message. */
  message?: unknown;
}

/** Error for a server that sent packets that are not Socket.IO. */
function notSocketIo({ url }: ConnectionTarget, { message }: Wire): CapacityError {
  const sent = printable(JSON.stringify(message) ?? '', MAX_REASON_LENGTH);
  const found = `it answered Engine.IO 4, but sent ${sent}, which is no Socket.IO packet of its own: not a Socket.IO server`;
  return notConnected(url, found, NOT_SOCKETIO);
}

function neverAnswered({ url, namespace }: ConnectionTarget, { engine }: Manager): CapacityError {
  const how =
    engine.transport.name === 'polling' ? 'answered the handshake by polling' : 'accepted the upgrade to WebSocket';
  return notConnected(
    url,
    `it ${how}, but never answered the CONNECT of namespace ${namespace} (${NO_ANSWER})`,
    `see whether a middleware of the server never calls next(), or the namespace is another one; or ${NOT_SOCKETIO}`,
  );
}

interface ClientError extends Error {
  type?: string;
  description?: unknown;
  data?: unknown;
  /** What a polling request got. */
  answer?: Failure;
}

const SEE_SERVER =
  'see the log of the server: a middleware or a handler closes connections that lack something, such as `auth`, `headers` or `query`, or does not know the namespace';

/**
 * @param details as those of `endFailure`
 * @returns what ended a connection between the handshake of Engine.IO and that of the namespace
 */
function closedEarly(
  connection: ConnectionTarget,
  { isPolling, reason, details, wire }: { isPolling: boolean; reason: string; details: unknown; wire: Wire },
): CapacityError {
  const { url, namespace, transports } = connection;
  const { cause, message } = endFailure(reason, details);
  if (cause === 'not_socketio') return notSocketIo(connection, wire);
  const [, code] = /^closed_(\d+)$/.exec(cause) ?? [];
  const words = printable(message.replace(reason, '').trim(), MAX_REASON_LENGTH);
  const how = code === undefined ? '' : ` (code ${code}${words && `: ${words}`})`;
  const ended =
    reason === 'io server disconnect'
      ? `disconnected the client from namespace ${namespace}`
      : `closed the ${isPolling ? 'polling session' : 'WebSocket'}${how}`;
  const other = transports.includes('polling') ? '' : 'try `transports: [polling, websocket]`; or ';
  return notConnected(url, `it answered the Engine.IO handshake, then ${ended}`, other + SEE_SERVER);
}

/** The client forgets what a request was answered as soon as its listeners have returned. */
function withAnswer(error: ClientError): ClientError {
  return typeof error.description === 'number' ? Object.assign(error, { answer: failureOf(error) }) : error;
}

/** Where the server asks for one, as the load's clients answer. */
function acknowledge({ acknowledge }: ConnectionTarget, answer: unknown): void {
  if (acknowledge && typeof answer === 'function') answer(...acknowledge);
}

/**
 * @returns the worker of the connection; `''` if the server's own handler, which decides what it acknowledges, names none
 * @throws CapacityError JOIN_REFUSED when the server does not know `join_room`
 */
export async function joinRoom(socket: Socket, room: string): Promise<string> {
  const answer = ((await askToJoin(socket, room)) ?? {}) as Partial<Joined & Refusal>;
  const { error, code, fix, worker } = answer;
  if (code !== 'JOIN_REFUSED') return nameOf(worker) ?? '';
  throw new CapacityError(
    code,
    `the server refused to join room ${JSON.stringify(room)}: ${printable(String(error), MAX_REASON_LENGTH)}`,
    typeof fix === 'string' ? printable(fix, MAX_REASON_LENGTH) : 'see its log',
  );
}

async function askToJoin(socket: Socket, room: string): Promise<unknown> {
  try {
    return await socket.timeout(CONNECT_TIMEOUT_MS).emitWithAck(EVENTS.joinRoom, { clientKey: room });
  } catch {
    if (!socket.connected) {
      throw new CapacityError(
        'TARGET_UNREACHABLE',
        `the connection of the probe or the reference receiver ended before the server acknowledged \`${EVENTS.joinRoom}\``,
        'see the log of the server, or find the time-out that ends idle connections: `npx socketio-capacity doctor --target` holds one',
      );
    }
    throw new CapacityError(
      'JOIN_REFUSED',
      `the server did not acknowledge \`${EVENTS.joinRoom}\` from the probe or the reference receiver`,
      'call instrument(io) in the server, which acknowledges this event',
    );
  }
}

/** Failures that may be a refusal. */
const UNTOLD = /^(http_4\d\d|ECONNRESET|ECONNABORTED|EPIPE|socket hang up)$/;
/** Answers of Socket.IO and of python-socketio to a polling request that reached another worker than its session. */
const STRAYED = /Session ID unknown|Invalid session/;
const STICKY =
  'a polling session must stay with the worker that opened it: make the proxy route by session (sticky sessions), or use `transports: [websocket]`';

async function unreachable(connection: ConnectionTarget, error: ClientError): Promise<CapacityError> {
  const { url: target } = connection;
  // Only a refusal by the server has the key `data`, even if its value is undefined.
  if ('data' in error) return refused(connection, error);
  // The first packet names the version, even if the server does not offer polling.
  if (/v2\.x/.test(error.message)) return new Unsupported(target);
  const { code, said } = causeOf(error);
  const secrets = allSecretsIn(connection);
  const failed = (found: string, fix?: string) => notConnected(target, withoutSecrets(found, secrets), fix);
  if (STRAYED.test(said)) return failed(said, STICKY);
  const status = Number(/^http_(50[234])$/.exec(code)?.[1]);
  // Another request would tell no more, and count for a limit of connections.
  const seen: Seen = status ? { asked: 'websocket', ...connection, status } : await lookAt(connection);
  const answer = recognize(seen);
  if (!answer && /"upgrades":\[\]/.test(seen.body ?? ''))
    return new NoWebSocket(
      'TARGET_UNREACHABLE',
      `no Socket.IO connection to ${target}: ${withoutSecrets(said, secrets)}: ${NO_UPGRADE.message}`,
      NO_WEBSOCKET,
    );
  if (!answer) return failed(`${said}, although it answers Engine.IO’s handshake by polling`, LATER);
  if (answer.isUnsupported) return new Unsupported(target);
  if (!answer.isRefusal) return failed(code === NO_ANSWER ? `${said}: ${answer.found}` : answer.found, answer.fix);
  if (!UNTOLD.test(code)) return failed(said, answer.fix);
  return new Refused(target, printable(answer.found, MAX_REASON_LENGTH, secrets), answer.fix);
}

function notConnected(target: string, found: string, fix?: string): CapacityError {
  return new CapacityError('TARGET_UNREACHABLE', `no Socket.IO connection to ${target}: ${found}`, fix);
}

const NO_WEBSOCKET =
  'measure with polling: `transports: [polling]`, or TRANSPORTS=polling; or add `websocket` to `transports` of the server';
const NAMESPACE_FIX =
  'correct the namespace: the path of the URL is the namespace, and without a path it is `/`; the option `path` is that of Engine.IO, such as `/socket.io/`';
const MIDDLEWARE_FIX =
  'give it what it checks, in `auth`, `query` or `headers`; or let the option `clients` name the scenario that has it: the run’s own clients play the first one up to its join';
const LATER =
  'check the namespace and the WebSocket: a proxy must pass the upgrade on, and a middleware must call next(); to measure clients that poll first, `transports: [polling, websocket]` or TRANSPORTS=default';

function refused(connection: ConnectionTarget, { message, data }: Error & { data?: unknown }): CapacityError {
  // No login changes that.
  if (message === 'Invalid namespace') {
    const { url, namespace } = connection;
    return notConnected(url, `the server has no namespace ${namespace} (Invalid namespace)`, NAMESPACE_FIX);
  }
  const said = data === undefined ? message : `${message} ${JSON.stringify(data)}`;
  const words = printable(said, MAX_REASON_LENGTH, allSecretsIn(connection));
  const by = `a middleware of namespace ${connection.namespace}, \`io.use\``;
  return new Refused(connection.url, `${words} (by ${by})`, MIDDLEWARE_FIX);
}

function causeOf(error: ClientError): { code: string; said: string } {
  if (error.answer) {
    const { cause, message } = error.answer;
    return { code: cause, said: cause.startsWith('http_') ? message : cause };
  }
  const description = error.description as { error?: NodeJS.ErrnoException; message?: string } | undefined;
  const cause = description?.error?.code ?? description?.message ?? error.message;
  const status = /Unexpected server response: (\d+)/.exec(String(description?.message ?? ''))?.[1];
  const code = status ? `http_${status}` : cause;
  return { code, said: code };
}
