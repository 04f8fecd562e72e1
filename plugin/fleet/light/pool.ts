/** Holds the light connections of a process, with their sockets and the timers that check timeouts. */

import { Socket } from 'node:net';
import type { ClientOptions } from '../client/client.ts';
import { BufferBudget } from './buffer-budget.ts';
import { hasTcpHandles, TcpHandle } from './sockets/tcp-handle.ts';
import { tlsContextOf } from './sockets/tls-context.ts';
import { dialTlsHandle } from './sockets/tls-handle.ts';
import type { Wire, WireListener } from './sockets/wire.ts';
import type { ServerDestination } from './websocket/websocket-handshake.ts';

/** A connection whose timeouts the pool checks. Its times are milliseconds of `nowMs()`. */
export interface PooledConnection {
  /**
   * Time at which the connection's current wait times out, such as the wait for the server's close frame. 0 for no
   * wait.
   */
  deadlineMs: number;
  /** Time by which the server's next ping must have arrived; 0 if no ping is due. */
  pingDeadlineMs: number;
  onDeadline(): void;
  onPingOverdue(): void;
  destroy(): void;
}

/**
 * Milliseconds between two checks of the connections' deadlines. PING_EVERY_MS is the same for pings. A timeout is
 * noticed late by at most this time.
 */
const DEADLINE_EVERY_MS = 50;
const PING_EVERY_MS = 1000;

/** Creates the sockets for its connections, and checks the connections' timeouts. Must be closed with `close()`. */
export class ConnectionPool {
  /** Arrival time of the received bytes that are processed now, in microseconds. */
  receivedAtUs = 0;
  readonly buffers = new BufferBudget();
  /** @throws Error for an invalid source address or certificate */
  readonly dial: typeof dial;
  readonly #live = new Set<PooledConnection>();
  /** Connections that have a deadline. There are few at a time, so they are checked often. */
  readonly #waiting = new Set<PooledConnection>();
  readonly #timers: NodeJS.Timeout[];

  /**
   * Starts the timers of an empty pool.
   * @param openWire opens the sockets; replaced in tests
   */
  constructor(openWire = dial) {
    this.dial = openWire;
    // setImmediate runs after all sockets have been read, so data that arrived while this process was busy is still in
    // time.
    this.#timers = [
      setInterval(() => setImmediate(() => this.#checkDeadlines()), DEADLINE_EVERY_MS).unref(),
      setInterval(() => setImmediate(() => this.#checkPings()), PING_EVERY_MS).unref(),
    ];
  }

  /** Begins to check the connection's timeouts. */
  watch(connection: PooledConnection): void {
    this.#live.add(connection);
    this.#waiting.add(connection);
  }

  unwatch(connection: PooledConnection): void {
    this.#live.delete(connection);
    this.#waiting.delete(connection);
  }

  /** Returns the time in whole milliseconds, because V8 stores integers without an allocation. */
  nowMs(): number {
    return Math.floor(performance.now());
  }

  /** Destroys all connections at once. Their listeners are not notified. Idempotent. */
  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
    for (const connection of this.#live) connection.destroy();
  }

  #checkDeadlines(): void {
    const nowMs = this.nowMs();
    for (const connection of this.#waiting) {
      if (connection.deadlineMs === 0) this.#waiting.delete(connection);
      else if (connection.deadlineMs <= nowMs) connection.onDeadline();
    }
  }

  #checkPings(): void {
    this.buffers.recount();
    const nowMs = this.nowMs();
    for (const connection of this.#live) {
      if (connection.pingDeadlineMs !== 0 && connection.pingDeadlineMs <= nowMs) connection.onPingOverdue();
    }
  }
}

/** Read buffer of all sockets of the process. Each chunk is processed before the next chunk is read. */
const readBuffer = Buffer.allocUnsafeSlow(64 * 1024);

/** Socket with its listener, so that all sockets share one set of event handlers. */
type Owned = Socket & { listener: WireListener };

/**
 * Opens a socket.
 * @throws Error for an invalid source address or certificate, or if Node has no TLS handles
 */
function dial(listener: WireListener, destination: ServerDestination, options: ClientOptions): Wire {
  const { secure, host, servername } = destination.endpoint;
  if (!secure) return dialPlain(listener, destination, options);
  const sni = options.tls.servername ?? servername;
  return dialTlsHandle(listener, sni ?? host, sni, tlsContextOf(options.tls), (carried) =>
    dialPlain(carried, destination, options),
  );
}

function dialPlain(listener: WireListener, destination: ServerDestination, options: ClientOptions): Wire {
  // net.Socket resolves host names and reports an invalid source address. The kernel then chooses the source port.
  if (!hasTcpHandles || !destination.areAddresses) return dialSocket(listener, destination, options);
  const { host, port } = destination.endpoint;
  const { localAddress, localPort } = options;
  return new TcpHandle(listener, { host, port, localAddress, localPort });
}

function dialSocket(listener: WireListener, destination: ServerDestination, options: ClientOptions): Wire {
  const callback = (sizeBytes: number) => {
    socket.listener.feed(readBuffer, 0, sizeBytes);
    return true;
  };
  const plain = new Socket({ noDelay: true, onread: { buffer: readBuffer, callback } });
  const socket: Owned = Object.assign(plain, { listener });
  socket.on('connect', onConnect).on('error', onError).on('close', onClose);
  const { host, port } = destination.endpoint;
  socket.connect({ host, port, localAddress: options.localAddress });
  return socket;
}

function onConnect(this: Socket): void {
  (this as Owned).listener.onWireOpen(false);
}

function onError(this: Socket, error: Error): void {
  (this as Owned).listener.onWireError(error);
}

function onClose(this: Socket): void {
  (this as Owned).listener.onWireClosed();
}
