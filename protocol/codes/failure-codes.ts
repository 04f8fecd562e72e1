/**
 * All codes of failed virtual users and connections. The codes are short and stable. Each is a metric (`errors.<code>`)
 * and a key of `connections.failures` in the result. A name in angle brackets stands for a family of codes. `npm run
 * docs:reference` generates docs/reference/errors.md from this list.
 */
import type { Blame } from '../documents/search-schema.ts';
import type { CodeDefinition } from './error-codes.ts';

interface FailureDefinition extends CodeDefinition {
  /** Cause of the failure, if it is the generator or its machine and not the deployment. */
  blame?: Extract<Blame, 'generator' | 'machine'>;
  /**
   * Whether the code shows a configured limit of the deployment. If nearly all failures have such a code, the run has
   * reached that limit and not the capacity.
   */
  isLimit?: true;
  /** Whether the configured limit can be a limit of the rate. */
  isRate?: true;
}

/** Fix for a proxy that does not forward WebSocket upgrades. */
export const UPGRADE_HEADERS_FIX =
  'let the proxy forward the upgrade; in nginx: `proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection "upgrade";`';

const BUG = { meaning: 'a bug', remedy: 'please report it with the folder of the run' };

const CODES = {
  // Connecting
  EMFILE: {
    meaning: 'the fleet process has reached its limit of open files',
    remedy: 'raise the limit: `ulimit -n 65536`',
    blame: 'generator',
  },
  ENFILE: {
    meaning: "the generator's machine has reached its limit of open files",
    remedy: 'raise the limit: `sysctl fs.file-max`',
    blame: 'machine',
  },
  EADDRNOTAVAIL: {
    meaning: 'the generator has no free port towards the target',
    remedy: 'add source addresses with `localAddresses`, or widen `net.ipv4.ip_local_port_range`',
    blame: 'generator',
  },
  EADDRINUSE: {
    meaning: 'the generator has no free port on this source address',
    remedy: 'add source addresses with `localAddresses`, or widen `net.ipv4.ip_local_port_range`',
    blame: 'generator',
  },
  ENOMEM: {
    meaning: "the kernel of the generator's machine has no memory left",
    remedy: 'add memory, or use fewer connections',
    blame: 'machine',
  },
  ENOBUFS: {
    meaning: "the kernel of the generator's machine has no buffers left",
    remedy: 'raise `net.ipv4.tcp_mem`, add memory, or use fewer connections',
    blame: 'machine',
  },
  'E<name>': {
    meaning: 'an error of the system: `ECONNREFUSED`, `ECONNRESET`, …',
    remedy: 'see whether the target still listens, and the logs of proxy and server',
  },
  http_400: {
    meaning: 'the server or the proxy refused the handshake',
    remedy:
      'see the text of the answer: the server (its `allowRequest`) may want something that the client does not send, such as an `Origin`, or a proxy may remove the header `Upgrade`',
  },
  http_401: {
    meaning: 'the server or the proxy requires a login',
    remedy: 'send credentials in `auth`, `headers` or `query`, or log in with an earlier step',
  },
  http_403: {
    meaning: 'the server, the proxy or a firewall refuses these clients',
    remedy: 'send what it requires in `auth`, `headers` or `query`, or allow the generator there',
  },
  http_429: {
    meaning: 'a rate limit of proxy or server refused the handshake',
    remedy:
      'exempt the address of the generator from that limit, raise it, or lower `arrivalRate` (`RATE`) below what the headers of the answer allow',
  },
  http_500: {
    meaning: 'the proxy is out of connections (`worker_connections`) or open files',
    remedy: 'raise `worker_connections` and `worker_rlimit_nofile`',
    isLimit: true,
  },
  http_502: {
    meaning: 'the proxy gets no connection to a worker',
    remedy: "see the proxy's error log; connect from several addresses (`proxy_bind`), or raise the worker's limits",
    isLimit: true,
  },
  http_503: {
    meaning: 'a limit of the proxy or of the server, for connections or for new ones per second',
    remedy: "see the proxy's error log for `limit_conn`, `limit_req`, or unavailable upstreams",
    isLimit: true,
    isRate: true,
  },
  http_504: {
    meaning: 'a worker did not answer the proxy in time',
    remedy: "see the worker's CPU and its log",
  },
  'http_<status>': {
    meaning: 'the answer to the handshake has this status',
    remedy: 'see the logs of proxy and server',
  },
  timeout_tcp: {
    meaning: '`connectTimeout` expired before TCP connected',
    remedy: 'see whether a firewall drops packets, or the target’s listen queue is full (`ss -ltn`)',
  },
  timeout_tls: {
    meaning: '`connectTimeout` expired before the TLS handshake was complete',
    remedy: 'see the CPU of the proxy that ends TLS; lower `RATE`',
  },
  timeout_upgrade: {
    meaning: '`connectTimeout` expired before the upgrade to WebSocket was answered',
    remedy: 'see the CPU of proxy and workers; lower `RATE`',
  },
  timeout_open: {
    meaning: '`connectTimeout` expired before the Engine.IO handshake arrived',
    remedy: 'see the CPU of proxy and workers; lower `RATE`',
  },
  timeout_namespace: {
    meaning: 'the server did not answer the CONNECT packet within `connectTimeout`',
    remedy:
      'see whether a middleware of the namespace (`io.use`) never calls `next()` or waits for something that is slow, and the CPU of the workers; if few fail, behind `@socket.io/sticky`: its primary process loses the CONNECT of some connections, so let the workers share the port, or use a proxy with sticky sessions',
  },
  not_http: {
    meaning: 'the answer to a polling request violates HTTP',
    remedy: 'see what answers at the target',
  },
  not_websocket: {
    meaning: 'the answer violates the WebSocket protocol',
    remedy: 'see what answers at the target',
  },
  not_engineio: {
    meaning: 'the answer violates the Engine.IO protocol',
    remedy: 'see what answers at the target, and its path',
  },
  not_socketio: {
    meaning: 'the answer violates the Socket.IO protocol',
    remedy: 'see whether the server has another parser, or an old version of Socket.IO',
  },
  socketio_2: {
    meaning: 'the server speaks Socket.IO 1 or 2',
    remedy: 'upgrade the server to Socket.IO 4, or measure it with a tool for Socket.IO 2',
  },
  no_upgrade: {
    meaning: 'the server offers no upgrade to WebSocket: `upgrades: []` in its handshake',
    remedy:
      'add `websocket` to the option `transports` of the server and leave its `allowUpgrades` on, or measure with `transports: [polling]`',
  },
  message_too_large: {
    meaning: 'the server sent a message larger than the option `maxPayload`',
    remedy: 'raise the option `maxPayload` of the engine, in bytes; or let the server send smaller messages',
    blame: 'generator',
  },
  buffers_full: {
    meaning: 'too many incomplete messages, or data that the server does not read, in a fleet process',
    remedy: 'let the server send smaller messages, or spread the load over several generator hosts',
    blame: 'generator',
  },
  unreadable_data: {
    meaning: 'reading what the server sent failed',
    remedy: 'see the example of the failure',
  },
  'tls_<code>': {
    meaning: 'TLS failed, for example because of the certificate',
    remedy: 'name its authority in `tls.ca`, or correct the certificate',
  },
  'closed_<close code>': {
    meaning: 'the server closed the WebSocket during the setup',
    remedy: 'see the logs of proxy and server',
  },
  closed: {
    meaning: 'the connection ended during the setup, or before an answer',
    remedy: 'see the logs of proxy and server',
  },
  namespace_refused: {
    meaning: 'the server refused the namespace',
    remedy: "see the namespace's middleware, and what the flow sends as `auth`",
  },
  join_refused: {
    meaning: '`instrument(io)` in the server refused the room of a `join_room`',
    remedy: 'add the room to the option `rooms` of `instrument`',
  },

  // Steps
  ack_timeout: {
    meaning: 'no acknowledgement in time',
    remedy: 'let the server call the acknowledgement, or raise `timeout`',
  },
  response_timeout: {
    meaning: 'the event named by `response` did not arrive in time',
    remedy: 'see whether the server sends it, or raise `timeout`',
  },
  wait_timeout: {
    meaning: 'the event of a `waitFor` did not arrive in time',
    remedy: 'see whether the server sends it, or raise `timeout`',
  },
  failed_match: {
    meaning: 'something arrived, but it does not match',
    remedy: 'correct `match`, or see why the server answers otherwise',
  },
  failed_capture: {
    meaning: 'there is nothing to capture',
    remedy: 'correct the path of `capture`',
  },
  data_not_valid: {
    meaning: 'the arguments differ from `args` or `data`',
    remedy: 'correct `args` or `data`, or see why the server answers otherwise',
  },
  disconnected_fleet_process_died: {
    meaning: 'the fleet process that held the connection died',
    remedy: 'see `dmesg` for out-of-memory kills',
    blame: 'generator',
  },
  disconnected_agent_lost: {
    meaning: 'the generator host that held the connection was lost',
    remedy: 'see the output of Artillery on that host, and `dmesg`',
    blame: 'generator',
  },
  'disconnected_<reason>': {
    meaning:
      'the connection ended, for a reason of Socket.IO (`transport_close`, `ping_timeout`, …) or `message_too_large`',
    remedy: 'see the logs of proxy and server at that time',
  },
  disconnected: {
    meaning: 'the connection had already ended',
    remedy: 'see the logs of proxy and server',
  },
  failed_request: {
    meaning: 'an HTTP step failed: its URL, or its answer is an error',
    remedy: 'correct the step, or see why the server answers otherwise',
  },
  'function_<name>': {
    meaning: 'a processor function failed',
    remedy: 'see the example of the failure',
  },
  invalid_template: {
    meaning: 'a template did not produce a duration, or a number',
    remedy: 'correct the template',
  },

  // Failures that the generator itself causes.
  fleet_dead: {
    meaning: 'the fleet process that held the connection has died',
    remedy: 'see `dmesg` for out-of-memory kills',
    blame: 'generator',
  },
  fleet_silent: {
    meaning: 'the fleet process that holds the connection does not answer',
    remedy: 'give the generator more CPU and memory',
    blame: 'generator',
  },
  fleet_protocol: { ...BUG, blame: 'generator' },
  unknown_step: BUG,
  engine_not_started: { ...BUG, blame: 'generator' },
  internal_error: { ...BUG, blame: 'generator' },
} satisfies Record<string, FailureDefinition>;

/** Type of all codes in a family: `http_<status>` becomes `http_${string}`. */
type Expanded<Name extends string> = Name extends `${infer Start}<${string}>` ? `${Start}${string}` : Name;

export type FailureCode = Expanded<keyof typeof CODES>;

export const FAILURE_CODES: Record<string, FailureDefinition> = CODES;

/**
 * Returns the definition of a failure or disconnect that the generator or its machine caused. Such a failure is no
 * evidence about the deployment.
 * @param cause code of a failure, or Socket.IO's disconnect reason
 */
export function generatorFaultOf(cause: string): FailureDefinition | undefined {
  const reason = reasonToCode(cause).replace(/^disconnected_/, '');
  const definition =
    failureDefinitionOf(cause) ?? failureDefinitionOf(reason) ?? failureDefinitionOf(`disconnected_${reason}`);
  return definition?.blame && definition;
}

/** Converts Socket.IO's disconnect reason to the form that codes use: `transport close` becomes `transport_close`. */
export function reasonToCode(reason: string): string {
  return reason.toLowerCase().replace(/[^a-z0-9]+/g, '_');
}

/** Returns the definition of a failure code; undefined for unknown codes. */
export function failureDefinitionOf(code: string): FailureDefinition | undefined {
  return Object.hasOwn(FAILURE_CODES, code) ? FAILURE_CODES[code] : undefined;
}
