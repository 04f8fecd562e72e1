/**
 * Every code by which virtual users and connections fail, with the cause that docs/reference/steps.md gives for it. Each
 * is a metric, `errors.<code>`, and a key of the result's `connections.failures`: short, stable, of a bounded set. A word
 * in angle brackets makes it a family.
 */
export const FAILURE_CODES = {
  // Connecting
  'E<name>':
    "the system's, or Node's, own name for why connecting failed: `ECONNREFUSED`, `EMFILE`, `EADDRNOTAVAIL`, …",
  'http_<status>': 'the handshake was answered with this status and not with an upgrade',
  timeout_tcp: '`connectTimeout` passed before TCP was connected',
  timeout_upgrade: '`connectTimeout` passed before the upgrade to WebSocket was answered',
  timeout_open: '`connectTimeout` passed before the Engine.IO handshake came',
  timeout_namespace: '`connectTimeout` passed before the server answered for the namespace',
  not_websocket: 'the answer breaks the WebSocket protocol',
  not_engineio: 'the answer breaks the Engine.IO protocol',
  not_socketio: 'the answer breaks the Socket.IO protocol',
  'tls_<code>': 'TLS refused, for example the certificate',
  'closed_<close code>': 'the server closed the WebSocket while the connection was being set up',
  closed: 'the connection ended while it was being set up, or before an answer',
  namespace_refused: 'the server refused the namespace',

  // Steps
  ack_timeout: 'no acknowledgement in time',
  response_timeout: 'the event named by `response` did not come in time',
  wait_timeout: 'the event of a `waitFor` did not come in time',
  failed_match: 'something came, but it does not match',
  failed_capture: 'there is nothing to capture',
  data_not_valid: 'the arguments differ from `args`',
  'disconnected_<reason>': "the connection was lost, for Socket.IO's reason or because the fleet process died",
  disconnected: 'the connection was lost before',
  'function_<name>': 'a processor function failed',
  invalid_think: 'a template gave no duration',
  invalid_count: 'a template gave no number',

  // The generator itself
  fleet_dead: 'the generator process that held the connection has died',
  fleet_silent: 'the generator process that holds the connection does not answer',
  fleet_protocol: 'a bug: please report it',
  unknown_step: 'a bug: please report it',
  engine_not_started: 'a bug: please report it',
  internal_error: 'a bug: please report it',
} as const;

/** `http_<status>` → `http_${string}`. */
type Expanded<Name extends string> = Name extends `${infer Start}<${string}>` ? `${Start}${string}` : Name;

export type FailureCode = Expanded<keyof typeof FAILURE_CODES>;
