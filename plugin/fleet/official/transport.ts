/** Of the transports of engine.io-client what its public interface does not tell. */
import type { EventEmitter } from 'node:events';
import type { Manager } from 'socket.io-client';
import type { Failure } from '../client/failure.ts';
import { failureOf } from './failure.ts';

/** That of `ws`; transports other than WebSocket have none. */
export type WebSocket = ({ terminate(): void; extensions: string } & EventEmitter) | undefined;

/** Parts of engine.io-client that are not public. */
interface EnginePrivates {
  /** Of what the server gives out; the library sends it in place of a `Cookie` header, not beside it. */
  _cookieJar?: { parseCookies(cookies: string[]): void };
  /** Transports that the server offers and the client wants. */
  _upgrades: string[];
  createTransport(name: string): { once(event: 'error', listener: (error: Error) => void): void };
}

/** Lets the user's own cookies go with all requests. */
export function keepOwnCookies(engine: Manager['engine'], headers: Record<string, string>): void {
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
export function watchUpgrade(
  engine: Manager['engine'],
  onUpgraded: () => void,
  onFailed: (failure: Failure) => void,
): boolean {
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
