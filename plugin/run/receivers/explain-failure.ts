/** Converts the fleet's connect failure of a run client into an error with the reason and a suggested fix. */

import { getOrAdd } from '../../../protocol/base/get-or-add.ts';
import { printableLine } from '../../../protocol/base/printable.ts';
import { withoutSecrets } from '../../../protocol/base/secrets/known-secrets.ts';
import { collectConnectionSecrets } from '../../../protocol/base/secrets/masked-values.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import type { Transport } from '../../../protocol/wire/connection.ts';
import { type FleetError, NO_UPGRADE_FAILURE } from '../../fleet/client/failure.ts';
import type { ConnectionTarget } from '../../script/connection-target.ts';
import { httpStatusFix, NOT_SOCKETIO_FIX } from './http-refusals.ts';
import { requestHandshake } from './request-handshake.ts';
import { RUN_CLIENT_TIMEOUT_MS } from './run-connection.ts';
import { type HandshakeResult, isSocketIoRefusal, SOCKET_IO_2_PROBLEM, targetProblem } from './target-problem.ts';

const MAX_REASON_LENGTH = 300;
const POLLING_FIRST: OtherOptionsNeededError['options'] = { transports: ['polling', 'websocket'] };
const NO_ANSWER = `no answer within ${RUN_CLIENT_TIMEOUT_MS / 1000} s`;

const SCENARIO_FIX =
  'see why: the run’s own clients play the first scenario up to its join, with the last rows of the payload; the option `clients` names another scenario';

/** Error: the server refused a connection of the run's own clients, or a step of their flow failed. */
export class RefusedError extends CapacityError {
  /** The server's refusal text, or the failed step. */
  readonly reason: string;
  /** Whether the server might accept a client with other options, for example after a login. */
  readonly dependsOnClient: boolean;
  /** The failure of the connection attempt; undefined if the connection opened. */
  failure: Pick<FleetError, 'code' | 'message'> | undefined;
  /** Failure code of the failed step; undefined if no step failed. */
  readonly step: string | undefined;

  constructor(target: string, reason: string, fix = SCENARIO_FIX, dependsOnClient = true, step?: string) {
    const how = step?.startsWith('failed_') ? 'a step of the flow failed' : 'the server refused it';
    super('TARGET_UNREACHABLE', `no Socket.IO connection to ${target}: ${how}: ${reason}`, fix);
    this.reason = reason;
    this.dependsOnClient = dependsOnClient;
    this.step = step;
  }
}

/** Error: the server uses Socket.IO 2, which the clients do not support. */
export class UnsupportedServerError extends CapacityError {
  constructor(target: string) {
    super('TARGET_UNREACHABLE', `${SOCKET_IO_2_PROBLEM.found}: ${target}`, SOCKET_IO_2_PROBLEM.fix);
  }
}

/**
 * Error: these connection options cannot work, but other options may, such as polling in place of WebSocket, or the
 * path without its trailing slash.
 */
export class OtherOptionsNeededError extends CapacityError {
  readonly options: { transports?: Transport[]; addTrailingSlash?: false };

  constructor(message: string, fix: string | undefined, options: OtherOptionsNeededError['options']) {
    super('TARGET_UNREACHABLE', message, fix);
    this.options = options;
  }
}

/**
 * Explains a failed connection attempt.
 * @param connection options of the failed attempt
 * @returns TARGET_UNREACHABLE
 */
export async function explainFailure(connection: ConnectionTarget, error: FleetError): Promise<CapacityError> {
  const explained = await explain(connection, error);
  if (explained instanceof RefusedError) explained.failure = error;
  return explained;
}

async function explain(connection: ConnectionTarget, error: FleetError): Promise<CapacityError> {
  const { url, namespace } = connection;
  const { code, message, data, after } = error;
  if (code === 'namespace_refused')
    return (await speaksSocketIo2(connection)) ? new UnsupportedServerError(url) : refused(connection, message, data);
  if (code === 'not_socketio' || (code === 'socketio_2' && after?.isEngineIo4)) {
    const found = `it answered Engine.IO 4, but sent ${after?.sent}, which is no Socket.IO packet of its own: not a Socket.IO server`;
    return notConnectedError(url, found, NOT_SOCKETIO_FIX);
  }
  if (code === 'socketio_2') return new UnsupportedServerError(url);
  if (code === 'timeout_namespace') {
    const how =
      after?.transport === 'polling' ? 'answered the handshake by polling' : 'accepted the upgrade to WebSocket';
    const found = `it ${how}, but never answered the CONNECT of namespace ${namespace} (${NO_ANSWER})`;
    const other = 'or the namespace is another one';
    return notConnectedError(
      url,
      found,
      `see whether a middleware of the server never calls next(), ${other}; or ${NOT_SOCKETIO_FIX}`,
    );
  }
  if (after && /^closed/.test(code)) return closedEarly(connection, error);
  // Reports that Node did not send the request, for example because a header contains a line break.
  if (code.startsWith('ERR_')) return notConnectedError(url, message);
  return unreachable(connection, error);
}

/**
 * Suggested fix for a connection that closed before the server sent a message. The server may be unable to decode the
 * CONNECT packet.
 */
const PARSER_FIX =
  'if the server has another `parser`, such as socket.io-msgpack-parser, give the engine the same: the option `parser`, `init --parser`';
const SERVER_LOG_FIX =
  'see the log of the server: a middleware or a handler closes connections that lack something, such as `auth`, `headers` or `query`, or does not know the namespace';

/** Error for a connection that closed after the Engine.IO handshake and before the CONNECT of the namespace. */
function closedEarly(connection: ConnectionTarget, { code, message, after }: FleetError): CapacityError {
  const { url, namespace, transports } = connection;
  const [, closeCode] = /^closed_(\d+)$/.exec(code) ?? [];
  const words = printableLine(message.replace(/^transport (close|error)/, '').trim(), MAX_REASON_LENGTH);
  const how = closeCode === undefined ? '' : ` (code ${closeCode}${words && `: ${words}`})`;
  const ended =
    message === 'io server disconnect'
      ? `disconnected the client from namespace ${namespace}`
      : `closed the ${after?.transport === 'polling' ? 'polling session' : 'WebSocket'}${how}`;
  const silent = message !== 'io server disconnect' && after?.sent === '' ? `${PARSER_FIX}; or ` : '';
  const found = `it answered the Engine.IO handshake, then ${ended}`;
  if (transports.includes('polling')) return notConnectedError(url, found, silent + SERVER_LOG_FIX);
  const fix = `${silent}try \`transports: [polling, websocket]\`; or ${SERVER_LOG_FIX}`;
  return new OtherOptionsNeededError(connectionText(url, found), fix, POLLING_FIRST);
}

/** Pattern of failure codes that may mean that the server refused the client. */
const MAYBE_REFUSED = /^(http_[45]\d\d|ECONNRESET|ECONNABORTED|EPIPE|closed)$/;
/**
 * Pattern of the error texts in Socket.IO and python-socketio for a polling request whose session is on another worker.
 */
const WRONG_WORKER = /Session ID unknown|Invalid session/;
const STICKY_FIX =
  'a polling session must stay with the worker that opened it: make the proxy route by session (sticky sessions), or use `transports: [websocket]`';

async function unreachable(connection: ConnectionTarget, { code, message }: FleetError): Promise<CapacityError> {
  const { url: target } = connection;
  const summary = describeFailure(code, message);
  const secrets = collectConnectionSecrets(connection);
  const failed = (found: string, fix?: string) => notConnectedError(target, withoutSecrets(found, secrets), fix);
  if (WRONG_WORKER.test(message)) return failed(message, STICKY_FIX);
  const status = Number(/^http_(\d+)$/.exec(code)?.[1]);
  // The HTTP status shows the cause, so no further request is sent, which would count against connection limits.
  const isBusy = [502, 503, 504].includes(status);
  const handshake: HandshakeResult = isBusy
    ? { asked: 'websocket', ...connection, status }
    : await sharedHandshake(connection);
  const problem = targetProblem(handshake);
  if (isBusy)
    return problem?.isRefusal
      ? new RefusedError(target, reasonText(summary, secrets), problem.fix, false)
      : failed(summary, problem?.fix);
  if (!problem && /"upgrades":\[\]/.test(handshake.body ?? ''))
    return new OtherOptionsNeededError(
      connectionText(target, `${withoutSecrets(summary, secrets)}: ${NO_UPGRADE_FAILURE.message}`),
      NO_WEBSOCKET_FIX,
      { transports: ['polling'] },
    );
  if (!problem) {
    // A server behind a proxy that removed the Upgrade header also answers 400, with a different text.
    const upgrade = status === 400 ? targetProblem(await requestHandshake(connection, 'websocket')) : undefined;
    const why = upgrade && !upgrade.isRefusal ? `: ${upgrade.found}` : '';
    const found = `${summary}, although it answers Engine.IO’s handshake by polling${why}`;
    if (!isSocketIoRefusal(status) || (status === 400 && !upgrade?.isRefusal)) {
      const fix = why === '' ? WEBSOCKET_FIX : `${upgrade?.fix}; to measure without WebSockets, TRANSPORTS=polling`;
      return connection.transports.includes('polling')
        ? failed(found, fix)
        : new OtherOptionsNeededError(connectionText(target, withoutSecrets(found, secrets)), fix, POLLING_FIRST);
    }
    const own = `${httpStatusFix(status)}; or let what answers pass the upgrade on`;
    return new RefusedError(target, reasonText(found, secrets), own, dependsOnClient(status));
  }
  const { found, fix, isUnsupported, isWithoutSlash, isRefusal: refuses } = problem;
  if (isUnsupported) return new UnsupportedServerError(target);
  if (isWithoutSlash)
    return new OtherOptionsNeededError(connectionText(target, found), fix, { addTrailingSlash: false });
  if (!refuses)
    return failed(code === 'timeout_open' && handshake.status === undefined ? `${summary}: ${found}` : found, fix);
  if (!MAYBE_REFUSED.test(code)) return failed(summary, fix);
  return new RefusedError(target, reasonText(found, secrets), fix, dependsOnClient(status));
}

/** Returns false for a rate limit or a server error, because no option of the client can change these. */
const dependsOnClient = (status: number) => status !== 429 && !(status >= 500);

function reasonText(found: string, secrets: string[]): string {
  return printableLine(found, MAX_REASON_LENGTH, secrets);
}

/** Pending handshake requests by connection options. */
const handshakes = new Map<string, Promise<HandshakeResult>>();

/**
 * Sends one handshake request for all clients that fail at the same time, because each request counts against the
 * target's limits.
 */
function sharedHandshake(connection: ConnectionTarget): Promise<HandshakeResult> {
  const { url, path, query, headers } = connection;
  const key = JSON.stringify([url, path, query, headers]);
  return getOrAdd(handshakes, key, () => requestHandshake(connection).finally(() => handshakes.delete(key)));
}

/**
 * Time in milliseconds in which a Socket.IO 2 server opens or refuses its main namespace after a WebSocket has opened.
 * Its middleware may query a database.
 */
const UNASKED_MS = 1000;

/**
 * Returns whether the server uses Socket.IO 2, so that no option of the client helps. If the middleware refuses the
 * client, the version is unknown and the result is false. Never rejects.
 */
export async function speaksSocketIo2(connection: ConnectionTarget): Promise<boolean> {
  const polled = await sharedHandshake(connection);
  const problem = targetProblem(polled);
  if (problem?.isUnsupported) return true;
  // A server without polling refuses a polling request with the same text in Socket.IO 2 and later versions.
  if (!problem || !polled.body?.includes('Transport unknown')) return false;
  const opened = await requestHandshake(connection, 'websocket', { listenMs: UNASKED_MS });
  return targetProblem(opened)?.isUnsupported === true;
}

function describeFailure(code: string, message: string): string {
  if (/^(E[A-Z]+|tls_.*)$/.test(code)) return code;
  if (code === 'timeout_open') return NO_ANSWER;
  // For a closed connection, socket.io-client gives no more specific reason.
  return /^closed/.test(code) ? 'the server closed the connection before its handshake' : message;
}

export function notConnectedError(target: string, found: string, fix?: string): CapacityError {
  return new CapacityError('TARGET_UNREACHABLE', connectionText(target, found), fix);
}

const connectionText = (target: string, found: string) => `no Socket.IO connection to ${target}: ${found}`;

const NO_WEBSOCKET_FIX =
  'measure with polling: `transports: [polling]`, or TRANSPORTS=polling; or add `websocket` to `transports` of the server';
const NAMESPACE_FIX =
  'correct the namespace: the path of the URL is the namespace, and without a path it is `/`; the option `path` is that of Engine.IO, such as `/socket.io/`';
const MIDDLEWARE_FIX =
  'give it what it checks, in `auth`, `query` or `headers`; or let the option `clients` name the scenario that has it: the run’s own clients play the first one up to its join';
const WEBSOCKET_FIX =
  'check the namespace and the WebSocket: a proxy must pass the upgrade on, and a middleware must call next(); to measure clients that poll first, `transports: [polling, websocket]` or TRANSPORTS=default';

function refused(connection: ConnectionTarget, message: string, data: unknown): CapacityError {
  if (message === 'Invalid namespace') {
    const { url, namespace } = connection;
    return notConnectedError(url, `the server has no namespace ${namespace} (Invalid namespace)`, NAMESPACE_FIX);
  }
  const answer = [message || 'it gave no reason', data === undefined ? '' : JSON.stringify(data)].join(' ').trimEnd();
  const where = `in its answer to the CONNECT of namespace ${connection.namespace}`;
  return new RefusedError(
    connection.url,
    `${reasonText(answer, collectConnectionSecrets(connection))} (${where})`,
    MIDDLEWARE_FIX,
  );
}
