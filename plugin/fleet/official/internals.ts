/** What socket.io-client and engine.io-client do not make public: transports, cookies, sessions, and what is not sent yet. */
import type { EventEmitter } from 'node:events';
import type { Manager, Socket } from 'socket.io-client';
import type { RecoverableSession } from '../client/client.ts';
import type { Failure } from '../client/failure.ts';
import { failureOf } from './failure.ts';

type Engine = Manager['engine'];

/** That of `ws`; transports other than WebSocket have none. */
export type WebSocket = ({ terminate(): void; extensions: string; bufferedAmount: number } & EventEmitter) | undefined;

/** Parts of engine.io-client that are not public. */
interface EnginePrivates {
  /** Of what the server gives out; the library sends it in place of a `Cookie` header, not beside it. */
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

export function webSocketOf(transport: object): WebSocket {
  return (transport as { ws?: WebSocket }).ws;
}

/** Compression is the only one that is ever asked for. */
export function hasExtensions(transport: object): boolean {
  return (webSocketOf(transport)?.extensions ?? '') !== '';
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

/** Parts of a socket of socket.io-client that are not public: what it asks the server to restore. */
interface SocketPrivates {
  _pid?: string | undefined;
  _lastOffset?: string | undefined;
}

/** @returns undefined if the server has given it none */
export function sessionOf(namespace: string, socket: Socket): RecoverableSession | undefined {
  const { _pid: pid, _lastOffset: offset } = socket as unknown as SocketPrivates;
  return pid === undefined ? undefined : { namespace, pid, offset };
}

/** As if it were the socket of the client before, which the library would have kept. */
export function resume(socket: Socket, { pid, offset }: RecoverableSession): void {
  const privates: SocketPrivates = { _pid: pid, _lastOffset: offset };
  Object.assign(socket, privates);
}

/** How much the engine keeps for a server that does not read. */
export class Unsent {
  readonly #engine: Engine;
  /** In the packets that wait for a transport. */
  #queuedBytes = 0;

  constructor(engine: Engine) {
    this.#engine = engine;
    engine.on('packetCreate', ({ data }: { data?: unknown }) => {
      this.#queuedBytes += sizeOf(data);
    });
    engine.on('flush', () => this.#recount());
    engine.on('drain', () => this.#recount());
  }

  get bytes(): number {
    // A WebSocket takes all packets at once; polling takes more when its last request has been answered.
    return webSocketOf(this.#engine.transport)?.bufferedAmount ?? this.#queuedBytes;
  }

  #recount(): void {
    this.#queuedBytes = 0;
    for (const { data } of this.#engine.writeBuffer) this.#queuedBytes += sizeOf(data);
  }
}

/** Payload bytes only: the overhead of HTTP and WebSocket is not known here. */
export function sizeOf(data: unknown): number {
  if (typeof data === 'string') return Buffer.byteLength(data);
  return data instanceof ArrayBuffer || ArrayBuffer.isView(data) ? data.byteLength : 0;
}
