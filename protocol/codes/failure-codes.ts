/**
 * All codes of failed virtual users and connections, with the causes that docs/reference/steps.md gives for them. Each
 * is a metric, `errors.<code>`, and a key of the result's `connections.failures`: short, stable, from a bounded set. A
 * placeholder in angle brackets makes it a family of codes.
 */
export const FAILURE_CODES = {
  // Connecting
  'E<name>':
    'the error of the system or of Node that made connecting fail: `ECONNREFUSED`, `EMFILE`, `EADDRNOTAVAIL`, …',
  'http_<status>': 'the handshake was answered with this status instead of an upgrade',
  timeout_tcp: '`connectTimeout` expired before TCP was connected',
  timeout_tls: '`connectTimeout` expired before the TLS handshake was complete',
  timeout_upgrade: '`connectTimeout` expired before the upgrade to WebSocket was answered',
  timeout_open: '`connectTimeout` expired before the Engine.IO handshake arrived',
  timeout_namespace: '`connectTimeout` expired before the server answered for the namespace',
  not_http: 'the answer to a polling request violates HTTP',
  not_websocket: 'the answer violates the WebSocket protocol',
  not_engineio: 'the answer violates the Engine.IO protocol',
  not_socketio: 'the answer violates the Socket.IO protocol',
  message_too_large: 'the server sent a message larger than `maxPayload`',
  buffers_full: 'the connections of the generator process hold as many unfinished or unread bytes as they may',
  unreadable_data: 'reading what the server sent failed',
  'tls_<code>': 'TLS failed, for example because of the certificate',
  'closed_<close code>': 'the server closed the WebSocket while the connection was being set up',
  closed: 'the connection ended while it was being set up, or before an answer',
  namespace_refused: 'the server refused the namespace',
  join_refused: '`instrument(io)` in the server refused the room of a `join_room`',

  // Steps
  ack_timeout: 'no acknowledgement in time',
  response_timeout: 'the event named by `response` did not arrive in time',
  wait_timeout: 'the event of a `waitFor` did not arrive in time',
  failed_match: 'something arrived, but it does not match',
  failed_capture: 'there is nothing to capture',
  data_not_valid: 'the arguments differ from `args` or `data`',
  'disconnected_<reason>': "the connection was lost, for Socket.IO's reason or because the fleet process died",
  disconnected: 'the connection had already been lost',
  failed_request: 'an HTTP step failed: its `match` or `capture`, or its URL',
  'function_<name>': 'a processor function failed',
  invalid_think: 'a template did not produce a duration',
  invalid_count: 'a template did not produce a number',

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
