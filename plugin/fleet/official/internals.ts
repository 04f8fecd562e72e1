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

/** That of `ws`; transports other than WebSocket have none. */
export type WebSocket = ({ terminate(): void; extensions: string; _receiver?: Receiver } & EventEmitter) | undefined;

/** That of `ws`. */
interface Receiver {
  /** Length of the message that is being received. */
  _totalPayloadLength?: number;
}

/** Parts of engine.io-client that are not public. */
interface EnginePrivates {
  /** Cookies that the server gives out; the library sends them in place of a `Cookie` header, not beside it. */
  _cookieJar?: { parseCookies(cookies: string[]): void };
  /** Transports that the server offers and the client wants. */
  _upgrades: string[];
  createTransport(name: string): { once(event: 'error', listener: (error: Error) => void): void };
}

/** Lets the user's own cookies go with all requests. */
export function keepOwnCookies(engine: Engine, headers: Record<string, string>): void {
  const own = Object.entries(headers).find(([name]) => name.toLowerCase() === 'cookie')?.[1] ?? '';
  (engine as unknown as EnginePrivates)._cookieJar?.parseCookies(own.split(/; */));
}

function webSocketOf(transport: object): WebSocket {
  return (transport as { ws?: WebSocket }).ws;
}

/** @returns bytes of the message that was being received; undefined if unknown */
export function unfinishedBytes(webSocket: WebSocket): number | undefined {
  return webSocket?._receiver?._totalPayloadLength;
}

/** Compression is the only one that is ever asked for. */
export function hasExtensions(transport: object): boolean {
  return (webSocketOf(transport)?.extensions ?? '') !== '';
}

interface EngineWatcher {
  /** Now, and with each change of the transport. */
  onWebSocket(webSocket: WebSocket): void;
  /** An answer with another status than 101, whose body can be read. */
  onRefused(response: IncomingMessage): void;
  onEnd(reason: string, details: unknown): void;
  onHandshake(announced: Announced): void;
  onPacket(type: string, data: unknown): void;
  onSend(message: string | Uint8Array): void;
}

/** To be called while the engine opens. */
export function watchEngine(engine: Engine, watcher: EngineWatcher): void {
  const webSocket = webSocketOf(engine.transport);
  watcher.onWebSocket(webSocket);
  // Without a listener, `ws` reports the status only, and nothing else of the answer. The body is read after this.
  webSocket?.once('unexpected-response', (_request, response) => setImmediate(() => watcher.onRefused(response)));
  engine.on('upgrading', (transport: object) => watcher.onWebSocket(webSocketOf(transport)));
  engine.on('close', (reason: string, details: unknown) => watcher.onEnd(reason, details));
  engine.on('handshake', (open: object) => watcher.onHandshake(announcedIn({ ...open })));
  engine.on('packet', ({ type, data }: { type: string; data?: unknown }) => watcher.onPacket(type, data));
  engine.on('packetCreate', ({ data }: { data?: unknown }) => {
    if (typeof data === 'string' || data instanceof Uint8Array) watcher.onSend(data);
  });
}

/** @returns whether the transport, which is polling, is about to change */
export function watchUpgrade(engine: Engine, onUpgraded: () => void, onFailed: (failure: Failure) => void): boolean {
  const privates = engine as unknown as EnginePrivates;
  const { _upgrades, createTransport } = privates;
  let failure: Failure = { cause: 'closed', message: 'the probe failed' };
  // The event of a failed upgrade does not say why; the transport does.
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

/** Parts of a socket of socket.io-client that are not public. */
interface SocketPrivates {
  /** Callbacks by acknowledgement id. */
  acks?: Record<number, unknown>;
  /** Session that it asks the server to restore. */
  _pid?: string | undefined;
  _lastOffset?: string | undefined;
}

/** @returns undefined if the server has given it none */
export function sessionOf(namespace: string, socket: Socket): RecoverableSession | undefined {
  const { _pid: pid, _lastOffset: offset } = socket as unknown as SocketPrivates;
  return pid === undefined ? undefined : { namespace, pid, offset };
}

/** Restores the state of the previous client's socket, which the library would have kept. */
export function resume(socket: Socket, { pid, offset }: RecoverableSession): void {
  const privates: SocketPrivates = { _pid: pid, _lastOffset: offset };
  Object.assign(socket, privates);
}

/** The library ignores an answer that it has no callback for. @param socket undefined where the namespace is not connected */
export function isUnknownAck(socket: Socket | undefined, { type, id }: Packet): boolean {
  if (type !== PacketType.ACK && type !== PacketType.BINARY_ACK) return false;
  const { acks } = (socket ?? {}) as SocketPrivates;
  return acks !== undefined && id !== undefined && acks[id] === undefined;
}

/** Puts a refusal that is only a text, as of servers of other languages, into the form in which the library reads its message. */
export function refusalInWords(packet: Packet): void {
  if (packet.type === PacketType.CONNECT_ERROR && typeof packet.data === 'string')
    packet.data = { message: packet.data };
}
