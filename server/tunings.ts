/**
 * Optional savings per connection. Each has a switch, so that its effect can be measured (`npm run bench:server`). A
 * new tuning is a new entry in `TUNINGS`.
 */
import type { EventEmitter } from 'node:events';
import type { Server, ServerOptions, Socket } from 'socket.io';
import type { TuningDescription } from './control/versions.ts';
import { sharePingTimer } from './heartbeat.ts';
import type { WebSocketsName } from './websockets/index.ts';

/** Private members of an Engine.IO connection. */
interface EngineConnection {
  request: unknown;
  transport: EventEmitter & { name: string; socket?: EventEmitter };
}

interface Tuning {
  /** Environment variable of the switch, `on` or `off`. */
  variable: string;
  help: string;
  byDefault: boolean;
  /** Whether the switch is on in a default Socket.IO server. */
  inSocketIo: boolean;
  /** Returns the server options for a position of the switch. */
  options?: (on: boolean) => Partial<ServerOptions>;
  /**
   * WebSocket servers that the tuning supports, because it relies on their internals. It is off for other servers.
   * Default: all.
   */
  appliesTo?: WebSocketsName[];
  /** Hooks for new connections if the switch is on: for Engine.IO, and for the main namespace after its middlewares. */
  connection?: (connection: EngineConnection) => void;
  socket?: (socket: Socket) => void;
  /** Hook for the server before its first connection, if the switch is on. Returns a function that removes it. */
  server?: (io: Server) => () => void;
}

/** Engine.IO's default. Compression of smaller messages is not worthwhile. */
const COMPRESSED = { threshold: 1024 };

const TUNINGS = {
  // Drops the HTTP request, which is the largest object that a connection keeps.
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

/** Returns the tunings. Tunings that the WebSocket server does not support are off. */
export function tuningsInForce(chosen: Tunings, websockets: WebSocketsName): Tunings {
  const inForce = tuningEntries().map(([name, { appliesTo }]) => [
    name,
    chosen[name] && (appliesTo?.includes(websockets) ?? true),
  ]);
  return Object.fromEntries(inForce);
}

/**
 * Describes the tunings for results. `untuned` means that every switch has the position of a default Socket.IO server.
 */
export function describeTunings(inForce: Tunings): TuningDescription {
  const isTuned = tuningEntries().some(([name, { inSocketIo }]) => inForce[name] !== inSocketIo);
  const positions = tuningEntries().map(([name]) => [name, inForce[name] ? 'on' : 'off']);
  return { kind: isTuned ? 'tuned' : 'untuned', tunings: Object.fromEntries(positions) };
}

export function tuningOptions(on: Tunings): Partial<ServerOptions> {
  return Object.assign({}, ...tuningEntries().map(([name, tuning]) => tuning.options?.(on[name])));
}

/**
 * Applies the tunings that are on to a server without connections.
 * @returns a function that removes their timers and hooks
 */
export function applyTunings(io: Server, on: Tunings): () => void {
  const stops: (() => void)[] = [];
  for (const [name, { connection, socket, server }] of tuningEntries()) {
    if (!on[name]) continue;
    if (connection) io.engine.on('connection', connection);
    if (socket) io.on('connection', socket);
    if (server) stops.push(server(io));
  }
  return () => {
    for (const stop of stops) stop();
  };
}

export function tuningEntries(): [TuningName, Tuning][] {
  return Object.entries(TUNINGS) as [TuningName, Tuning][];
}

function dropListeners({ transport }: EngineConnection): void {
  if (transport.name !== 'websocket') return;
  // This listener is needed only for HTTP responses.
  transport.removeAllListeners('headers');
  // The first listener is Engine.IO's listener for errors during the upgrade. It is redundant after the transport has
  // added its own listener.
  const [guard, ...others] = transport.socket?.listeners('error') ?? [];
  if (guard?.name === 'onUpgradeError' && others.length > 0) transport.socket?.off('error', guard as () => void);
}
