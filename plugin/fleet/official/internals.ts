/** Private parts of socket.io-client and engine.io-client: transports, cookies and sessions. */
import type { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Manager, Socket } from 'socket.io-client';
import { type Packet, PacketType } from 'socket.io-parser';
import type { Announced } from '../../../protocol/link/ends.ts';
import { announcedIn } from '../client/announced.ts';
import type { RecoverableSession } from '../client/client.ts';
import type { Failure } from '../client/failure.ts';
import { failureOf } from './official-failure.ts';

type Engine = Manager['engine'];

/** Socket object of `ws`; transports other than WebSocket have none. */
export type WebSocket = ({ terminate(): void; extensions: string; _receiver?: Receiver } & EventEmitter) | undefined;

/** Receiver of `ws`. */
interface Receiver {
  /** Bytes of the message that is being received. */
  _totalPayloadLength?: number;
}

/** Private parts of engine.io-client. */
interface EnginePrivates {
  /** Cookies set by the server. The library sends them instead of a `Cookie` header, not in addition to it. */
  _cookieJar?: { parseCookies(cookies: string[]): void };
  /** Transports that the server offers and the client supports. */
  _upgrades: string[];
  createTransport(name: string): { once(event: 'error', listener: (error: Error) => void): void };
}

/** Sends the user's own cookies with all requests. */
export function keepOwnCookies(engine: Engine, headers: Record<string, string>): void {
  const own = Object.entries(headers).find(([name]) => name.toLowerCase() === 'cookie')?.[1] ?? '';
  (engine as unknown as EnginePrivates)._cookieJar?.parseCookies(own.split(/; */));
}

function webSocketOf(transport: object): WebSocket {
  return (transport as { ws?: WebSocket }).ws;
}

/** Returns the bytes of an incompletely received message; undefined if unknown. */
export function unfinishedBytes(webSocket: WebSocket): number | undefined {
  return webSocket?._receiver?._totalPayloadLength;
}

/** Returns whether the server has granted compression, the only extension that the client requests. */
export function hasExtensions(transport: object): boolean {
  return (webSocketOf(transport)?.extensions ?? '') !== '';
}

interface EngineWatcher {
  /** Called at once, and again at each change of the transport. */
  onWebSocket(webSocket: WebSocket): void;
  /** Called with a response whose status is not 101; its body can be read. */
  onRefused(response: IncomingMessage): void;
  onEnd(reason: string, details: unknown): void;
  onHandshake(announced: Announced): void;
  onPacket(type: string, data: unknown): void;
  onSend(message: string | Uint8Array): void;
}

/** Reports an engine's events to the watcher. Must be called while the engine opens. */
export function watchEngine(engine: Engine, watcher: EngineWatcher): void {
  const webSocket = webSocketOf(engine.transport);
  watcher.onWebSocket(webSocket);
  // Without a listener, `ws` reports only the status of the response. The body is read after this callback.
  webSocket?.once('unexpected-response', (_request, response) => setImmediate(() => watcher.onRefused(response)));
  engine.on('upgrading', (transport: object) => watcher.onWebSocket(webSocketOf(transport)));
  engine.on('close', (reason: string, details: unknown) => watcher.onEnd(reason, details));
  engine.on('handshake', (open: object) => watcher.onHandshake(announcedIn({ ...open })));
  engine.on('packet', ({ type, data }: { type: string; data?: unknown }) => watcher.onPacket(type, data));
  engine.on('packetCreate', ({ data }: { data?: unknown }) => {
    if (typeof data === 'string' || data instanceof Uint8Array) watcher.onSend(data);
  });
}

/** Returns whether the polling transport is about to upgrade. */
export function watchUpgrade(engine: Engine, onUpgraded: () => void, onFailed: (failure: Failure) => void): boolean {
  const privates = engine as unknown as EnginePrivates;
  const { _upgrades, createTransport } = privates;
  let failure: Failure = { cause: 'closed', message: 'the probe failed' };
  // The event of a failed upgrade has no reason; the transport's own error has.
  privates.createTransport = (name) => {
    const probe = createTransport.call(engine, name);
    probe.once('error', (error) => {
      failure = failureOf(error);
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
  /** Session that the client asks the server to restore. */
  _pid?: string | undefined;
  _lastOffset?: string | undefined;
}

/** Returns the socket's session; undefined if the server has issued none. */
export function sessionOf(namespace: string, socket: Socket): RecoverableSession | undefined {
  const { _pid: pid, _lastOffset: offset } = socket as unknown as SocketPrivates;
  return pid === undefined ? undefined : { namespace, pid, offset };
}

/** Restores the state of the previous client's socket, which the library itself would have kept. */
export function resume(socket: Socket, { pid, offset }: RecoverableSession): void {
  const privates: SocketPrivates = { _pid: pid, _lastOffset: offset };
  Object.assign(socket, privates);
}

/**
 * Returns whether the acknowledgement has no callback; the library ignores it.
 * @param socket undefined if the namespace is not connected
 */
export function isUnknownAck(socket: Socket | undefined, { type, id }: Packet): boolean {
  if (type !== PacketType.ACK && type !== PacketType.BINARY_ACK) return false;
  const { acks } = (socket ?? {}) as SocketPrivates;
  return acks !== undefined && id !== undefined && acks[id] === undefined;
}

/** Converts a text-only refusal, as sent by servers in other languages, to the form whose message the library reads. */
export function refusalInWords(packet: Packet): void {
  if (packet.type === PacketType.CONNECT_ERROR && typeof packet.data === 'string')
    packet.data = { message: packet.data };
}
