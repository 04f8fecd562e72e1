/** Private parts of socket.io-client and engine.io-client that the fleet uses: transports, cookies and sessions. */
import type { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Manager, Socket } from 'socket.io-client';
import { type Packet, PacketType } from 'socket.io-parser';
import type { HandshakeSettings } from '../../../protocol/link/close-kinds.ts';
import type { RecoverableSession } from '../client/client.ts';
import type { ConnectionFailure } from '../client/failure.ts';
import { handshakeSettingsOf } from '../client/handshake-settings.ts';
import { connectFailureOf } from './official-failure.ts';

type Engine = Manager['engine'];

/** WebSocket object of the package `ws`; undefined for other transports. */
export type WsSocket = ({ terminate(): void; extensions: string; _receiver?: Receiver } & EventEmitter) | undefined;

/** Receiving side of a WebSocket of the package `ws`. */
interface Receiver {
  /** Received bytes of an incomplete message. */
  _totalPayloadLength?: number;
}

/** Private parts of an engine.io-client socket. */
interface EnginePrivates {
  /** Cookies that the server has set. The library sends them in place of the user's `Cookie` header. */
  _cookieJar?: { parseCookies(cookies: string[]): void };
  /** Transports that the server offers and the client supports. */
  _upgrades: string[];
  createTransport(name: string): { once(event: 'error', listener: (error: Error) => void): void };
}

/** Makes the client send the user's own cookies together with the server's cookies. */
export function keepOwnCookies(engine: Engine, headers: Record<string, string>): void {
  const own = Object.entries(headers).find(([name]) => name.toLowerCase() === 'cookie')?.[1] ?? '';
  (engine as unknown as EnginePrivates)._cookieJar?.parseCookies(own.split(/; */));
}

function webSocketOf(transport: object): WsSocket {
  return (transport as { ws?: WsSocket }).ws;
}

/** Returns the number of received bytes of an incomplete message; undefined if unknown. */
export function unfinishedBytes(webSocket: WsSocket): number | undefined {
  return webSocket?._receiver?._totalPayloadLength;
}

/** Returns whether the server has granted compression: the only extension that the client requests. */
export function hasExtensions(transport: object): boolean {
  return (webSocketOf(transport)?.extensions ?? '') !== '';
}

interface EngineWatcher {
  /** Called with the current WebSocket, and again whenever the transport changes. */
  onWebSocket(webSocket: WsSocket): void;
  /** Called with a response whose status is not 101. Its body can still be read. */
  onRefused(response: IncomingMessage): void;
  onEnd(reason: string, details: unknown): void;
  onHandshake(announced: HandshakeSettings): void;
  onPacket(type: string, data: unknown): void;
  onSend(message: string | Uint8Array): void;
}

/** Reports an engine's events to the watcher. Must be called while the engine is opening. */
export function watchEngine(engine: Engine, watcher: EngineWatcher): void {
  const webSocket = webSocketOf(engine.transport);
  watcher.onWebSocket(webSocket);
  // Without this listener, `ws` reports only the status. The body is available in the next turn of the event loop.
  webSocket?.once('unexpected-response', (_request, response) => setImmediate(() => watcher.onRefused(response)));
  engine.on('upgrading', (transport: object) => watcher.onWebSocket(webSocketOf(transport)));
  engine.on('close', (reason: string, details: unknown) => watcher.onEnd(reason, details));
  engine.on('handshake', (open: object) => watcher.onHandshake(handshakeSettingsOf({ ...open })));
  engine.on('packet', ({ type, data }: { type: string; data?: unknown }) => watcher.onPacket(type, data));
  engine.on('packetCreate', ({ data }: { data?: unknown }) => {
    if (typeof data === 'string' || data instanceof Uint8Array) watcher.onSend(data);
  });
}

/**
 * Reports the outcome of an upgrade from polling.
 * @returns whether an upgrade will be attempted
 */
export function watchUpgrade(
  engine: Engine,
  onUpgraded: () => void,
  onFailed: (failure: ConnectionFailure) => void,
): boolean {
  const privates = engine as unknown as EnginePrivates;
  const { _upgrades, createTransport } = privates;
  let failure: ConnectionFailure = { cause: 'closed', message: 'the probe failed' };
  // The event `upgradeError` has no reason, so the reason is taken from the probe's error.
  privates.createTransport = (name) => {
    const probe = createTransport.call(engine, name);
    probe.once('error', (error) => {
      failure = connectFailureOf(error);
    });
    return probe;
  };
  engine.once('upgrade', onUpgraded);
  engine.once('upgradeError', () => onFailed(failure));
  return _upgrades.length > 0;
}

/** Private parts of a socket of socket.io-client. */
interface SocketPrivates {
  /** Callbacks by acknowledgement id. */
  acks?: Record<number, unknown>;
  /** Private id of the session that the client asks the server to restore. */
  _pid?: string | undefined;
  _lastOffset?: string | undefined;
}

/** Returns the session that the server can restore; undefined if the server has issued none. */
export function recoverableSessionOf(namespace: string, socket: Socket): RecoverableSession | undefined {
  const { _pid: pid, _lastOffset: offset } = socket as unknown as SocketPrivates;
  return pid === undefined ? undefined : { namespace, pid, offset };
}

/** Restores the session of the connection's previous client, as the library does when it reconnects itself. */
export function resumeSession(socket: Socket, { pid, offset }: RecoverableSession): void {
  const privates: SocketPrivates = { _pid: pid, _lastOffset: offset };
  Object.assign(socket, privates);
}

/**
 * Returns whether no sent message waits for this acknowledgement. The library ignores such an acknowledgement.
 * @param socket socket of the namespace; undefined if it is not connected
 */
export function isUnknownAck(socket: Socket | undefined, { type, id }: Packet): boolean {
  if (type !== PacketType.ACK && type !== PacketType.BINARY_ACK) return false;
  const { acks } = (socket ?? {}) as SocketPrivates;
  return acks !== undefined && id !== undefined && acks[id] === undefined;
}

/** Converts a refusal that is only text to the form that the library reads. Servers in other languages send text. */
export function normalizeTextRefusal(packet: Packet): void {
  if (packet.type === PacketType.CONNECT_ERROR && typeof packet.data === 'string')
    packet.data = { message: packet.data };
}
