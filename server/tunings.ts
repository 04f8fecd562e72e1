/**
 * What a connection can do without. Each has its own switch, so that its effect can be measured
 * (`npm run bench:server`). To add one, add an entry: the environment variable, its default, and what it changes.
 */
import type { EventEmitter } from 'node:events';
import type { Server, ServerOptions, Socket } from 'socket.io';
import type { Tuned } from './control/describe-server.ts';
import { sharePingTimer } from './heartbeat.ts';
import type { WebSocketsName } from './websockets/index.ts';

/** The parts of an Engine.IO connection that have no public names. */
interface EngineConnection {
  request: unknown;
  transport: EventEmitter & { name: string; socket?: EventEmitter };
}

interface Tuning {
  /** Environment variable, `on` or `off`. */
  variable: string;
  /** For the reference: what it does, and the price. */
  help: string;
  byDefault: boolean;
  /** Its position in an untuned Socket.IO server. */
  inSocketIo: boolean;
  /** Server options that the switch sets, for either position. */
  options?: (on: boolean) => Partial<ServerOptions>;
  /** The WebSocket servers whose internals it relies on; it is off with all others. Default: it applies to all. */
  appliesTo?: WebSocketsName[];
  /** Changes each connection, when the switch is on: one of Engine.IO, and one of the main namespace after its middlewares. */
  connection?: (connection: EngineConnection) => void;
  socket?: (socket: Socket) => void;
  /** Changes the server when the switch is on, before the first connection. Returns a function that stops it. */
  server?: (io: Server) => () => void;
}

/** Engine.IO's own default: smaller messages are not worth compressing. */
const COMPRESSED = { threshold: 1024 };

const TUNINGS = {
  // The largest single object that a connection keeps.
  dropRequest: {
    variable: 'CAPACITY_DROP_REQUEST',
    help: 'discards the HTTP request that opened the connection: no headers, URL or query in `socket.handshake`',
    byDefault: true,
    inSocketIo: false,
    connection: (connection) => {
      connection.request = null;
    },
  },
  dropHandshake: {
    variable: 'CAPACITY_DROP_HANDSHAKE',
    help: 'discards the handshake data after the middlewares: event handlers find no `socket.handshake`',
    byDefault: true,
    inSocketIo: false,
    socket: (socket) => {
      (socket as { handshake: unknown }).handshake = undefined;
    },
  },
  dropListeners: {
    variable: 'CAPACITY_DROP_LISTENERS',
    help: 'removes listeners that a connection which began as a WebSocket no longer needs',
    byDefault: true,
    inSocketIo: false,
    appliesTo: ['ws'],
    connection: dropListeners,
  },
  sharePingTimer: {
    variable: 'CAPACITY_SHARE_PING_TIMER',
    help: 'pings all connections from one timer, at a fixed interval rather than after the last answer',
    byDefault: true,
    inSocketIo: false,
    server: sharePingTimer,
  },
  perMessageDeflate: {
    variable: 'CAPACITY_PER_MESSAGE_DEFLATE',
    help: 'WebSocket compression for clients that offer it; on `ws`, with two zlib contexts per connection',
    byDefault: false,
    inSocketIo: false,
    options: (on) => ({ perMessageDeflate: on && COMPRESSED }),
  },
  httpCompression: {
    variable: 'CAPACITY_HTTP_COMPRESSION',
    help: 'compressed answers of the polling transport',
    byDefault: false,
    inSocketIo: true,
    options: (on) => ({ httpCompression: on && COMPRESSED }),
  },
} satisfies Record<string, Tuning>;

export type TuningName = keyof typeof TUNINGS;
export type Tunings = Record<TuningName, boolean>;

/** @returns which of the chosen tunings are on: one that does not apply to the WebSocket server is off */
export function tuningsInForce(chosen: Tunings, websockets: WebSocketsName): Tunings {
  const inForce = entries().map(([name, { appliesTo }]) => [
    name,
    chosen[name] && (appliesTo?.includes(websockets) ?? true),
  ]);
  return Object.fromEntries(inForce);
}

/** @returns for results: an untuned server has every switch in the position of a plain Socket.IO server */
export function describeTunings(inForce: Tunings): Tuned {
  const isTuned = entries().some(([name, { inSocketIo }]) => inForce[name] !== inSocketIo);
  const positions = entries().map(([name]) => [name, inForce[name] ? 'on' : 'off']);
  return { kind: isTuned ? 'tuned' : 'untuned', tunings: Object.fromEntries(positions) };
}

/** @returns the server options that the switches set */
export function tuningOptions(on: Tunings): Partial<ServerOptions> {
  return Object.assign({}, ...entries().map(([name, tuning]) => tuning.options?.(on[name])));
}

/** Applies the tunings that are on to a server without connections. @returns a function that stops what they started */
export function applyTunings(io: Server, on: Tunings): () => void {
  const stops: (() => void)[] = [];
  for (const [name, { connection, socket, server }] of entries()) {
    if (!on[name]) continue;
    if (connection) io.engine.on('connection', connection);
    if (socket) io.on('connection', socket);
    if (server) stops.push(server(io));
  }
  return () => {
    for (const stop of stops) stop();
  };
}

export function entries(): [TuningName, Tuning][] {
  return Object.entries(TUNINGS) as [TuningName, Tuning][];
}

function dropListeners({ transport }: EngineConnection): void {
  if (transport.name !== 'websocket') return;
  // For HTTP responses, which a WebSocket does not have.
  transport.removeAllListeners('headers');
  // Engine.IO's guard during the upgrade is the first listener; the transport has its own by now.
  const [guard, ...others] = transport.socket?.listeners('error') ?? [];
  if (guard?.name === 'onUpgradeError' && others.length > 0) transport.socket?.off('error', guard as () => void);
}
