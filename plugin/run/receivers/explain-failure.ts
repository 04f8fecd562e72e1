/** What a failed connection of the run's own clients means, and what to do: from the failure that the fleet reports. */

import { getOrAdd } from '../../../protocol/base/get-or-add.ts';
import { printable } from '../../../protocol/base/printable.ts';
import { withoutSecrets } from '../../../protocol/base/secrets/known-secrets.ts';
import { allSecretsIn } from '../../../protocol/base/secrets/masked-values.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { NO_UPGRADE } from '../../fleet/client/failure.ts';
import type { FleetError } from '../../fleet/fleet-error.ts';
import type { ConnectionTarget } from '../../script/connection-target.ts';
import { httpFix, NOT_SOCKETIO } from './http-refusals.ts';
import { lookAt } from './look-at-target.ts';
import { CONNECT_TIMEOUT_MS } from './own-connection.ts';
import { isRefusal, OLD_SERVER, recognize, type Seen } from './what-answers.ts';

/** Characters of what the server says when it refuses. */
const MAX_REASON_LENGTH = 300;
const NO_ANSWER = `no answer within ${CONNECT_TIMEOUT_MS / 1000} s`;

const OF_SCENARIO =
  'see why: the run’s own clients play the first scenario up to its join, with the last rows of the payload; the option `clients` names another scenario';

/** The server refused a connection of the run's own clients, or a step of the flow that leads to it failed. */
export class Refused extends CapacityError {
  /** In the server's words. */
  readonly said: string;
  /** Whether something that a client brings may help. */
  readonly asks: boolean;

  constructor(target: string, said: string, fix = OF_SCENARIO, asks = true) {
    super('TARGET_UNREACHABLE', `no Socket.IO connection to ${target}: the server refused it: ${said}`, fix);
    this.said = said;
    this.asks = asks;
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

/** @param connection as the attempt made it @returns TARGET_UNREACHABLE */
export async function explain(connection: ConnectionTarget, error: FleetError): Promise<CapacityError> {
  const { url, namespace } = connection;
  const { code, message, data, after } = error;
  if (code === 'namespace_refused') return refused(connection, message, data);
  if (code === 'not_socketio' || (code === 'socketio_2' && after?.isEngineIo4)) {
    const found = `it answered Engine.IO 4, but sent ${after?.sent}, which is no Socket.IO packet of its own: not a Socket.IO server`;
    return notConnected(url, found, NOT_SOCKETIO);
  }
  if (code === 'socketio_2') return new Unsupported(url);
  if (code === 'timeout_namespace') {
    const how =
      after?.transport === 'polling' ? 'answered the handshake by polling' : 'accepted the upgrade to WebSocket';
    const found = `it ${how}, but never answered the CONNECT of namespace ${namespace} (${NO_ANSWER})`;
    const other = 'or the namespace is another one';
    return notConnected(
      url,
      found,
      `see whether a middleware of the server never calls next(), ${other}; or ${NOT_SOCKETIO}`,
    );
  }
  if (after && /^closed/.test(code)) return closedEarly(connection, error);
  // What no request can have, such as a header with a line break.
  if (code.startsWith('ERR_')) return notConnected(url, message);
  return unreachable(connection, error);
}

/** A server that cannot decode the first packet closes the connection without a word. */
const PARSER =
  'if the server has another `parser`, such as socket.io-msgpack-parser, give the engine the same: the option `parser`';
const SEE_SERVER =
  'see the log of the server: a middleware or a handler closes connections that lack something, such as `auth`, `headers` or `query`, or does not know the namespace';

/** Error for a connection that ended between the handshake of Engine.IO and that of the namespace. */
function closedEarly(connection: ConnectionTarget, { code, message, after }: FleetError): CapacityError {
  const { url, namespace, transports } = connection;
  const [, closeCode] = /^closed_(\d+)$/.exec(code) ?? [];
  const words = printable(message.replace(/^transport (close|error)/, '').trim(), MAX_REASON_LENGTH);
  const how = closeCode === undefined ? '' : ` (code ${closeCode}${words && `: ${words}`})`;
  const ended =
    message === 'io server disconnect'
      ? `disconnected the client from namespace ${namespace}`
      : `closed the ${after?.transport === 'polling' ? 'polling session' : 'WebSocket'}${how}`;
  const other = transports.includes('polling') ? '' : 'try `transports: [polling, websocket]`; or ';
  const silent = message !== 'io server disconnect' && after?.sent === '' ? `${PARSER}; or ` : '';
  return notConnected(url, `it answered the Engine.IO handshake, then ${ended}`, silent + other + SEE_SERVER);
}

/** Failures that may be a refusal. */
const UNTOLD = /^(http_[45]\d\d|ECONNRESET|ECONNABORTED|EPIPE|closed)$/;
/** Answers of Socket.IO and of python-socketio to a polling request that reached another worker than its session. */
const STRAYED = /Session ID unknown|Invalid session/;
const STICKY =
  'a polling session must stay with the worker that opened it: make the proxy route by session (sticky sessions), or use `transports: [websocket]`';

async function unreachable(connection: ConnectionTarget, { code, message }: FleetError): Promise<CapacityError> {
  const { url: target } = connection;
  const said = saidBy(code, message);
  const secrets = allSecretsIn(connection);
  const failed = (found: string, fix?: string) => notConnected(target, withoutSecrets(found, secrets), fix);
  if (STRAYED.test(message)) return failed(message, STICKY);
  const status = Number(/^http_(\d+)$/.exec(code)?.[1]);
  // Another request would tell no more, and count for a limit of connections.
  const isBusy = [502, 503, 504].includes(status);
  const seen: Seen = isBusy ? { asked: 'websocket', ...connection, status } : await lookOnce(connection);
  const answer = recognize(seen);
  if (isBusy)
    return answer?.isRefusal ? new Refused(target, words(said, secrets), answer.fix, false) : failed(said, answer?.fix);
  if (!answer && /"upgrades":\[\]/.test(seen.body ?? ''))
    return new NoWebSocket(
      'TARGET_UNREACHABLE',
      `no Socket.IO connection to ${target}: ${withoutSecrets(said, secrets)}: ${NO_UPGRADE.message}`,
      NO_WEBSOCKET,
    );
  if (!answer) {
    const found = `${said}, although it answers Engine.IO’s handshake by polling`;
    // A proxy that removes the header of the upgrade makes the server answer 400.
    if (!isRefusal(status) || status === 400) return failed(found, LATER);
    const own = `${httpFix(status)}; or let what answers pass the upgrade on`;
    return new Refused(target, words(found, secrets), own, asksOf(status));
  }
  if (answer.isUnsupported) return new Unsupported(target);
  if (!answer.isRefusal) return failed(code === 'timeout_open' ? `${said}: ${answer.found}` : answer.found, answer.fix);
  if (!UNTOLD.test(code)) return failed(said, answer.fix);
  return new Refused(target, words(answer.found, secrets), answer.fix, asksOf(status));
}

/** A limit, or an error of the server, asks nothing of the client. */
const asksOf = (status: number) => status !== 429 && !(status >= 500);

function words(found: string, secrets: string[]): string {
  return printable(found, MAX_REASON_LENGTH, secrets);
}

/** By connection: clients that fail together ask once, as each request counts for a limit of the target. */
const looks = new Map<string, Promise<Seen>>();

function lookOnce(connection: ConnectionTarget): Promise<Seen> {
  const { url, path, query, headers } = connection;
  const key = JSON.stringify([url, path, query, headers]);
  return getOrAdd(looks, key, () => lookAt(connection).finally(() => looks.delete(key)));
}

function saidBy(code: string, message: string): string {
  if (/^(E[A-Z]+|tls_.*)$/.test(code)) return code;
  if (code === 'timeout_open') return NO_ANSWER;
  // The fleet has no more than the library's reason.
  return /^closed/.test(code) ? 'the server closed the connection before its handshake' : message;
}

export function notConnected(target: string, found: string, fix?: string): CapacityError {
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

function refused(connection: ConnectionTarget, message: string, data: unknown): CapacityError {
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
