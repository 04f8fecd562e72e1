/**
 * Describes transports and compression of the clients. They change the figures more than most settings of the server.
 */

import type { Result } from '../../protocol/result/result.ts';
import { TRANSPORTS, type TransportsName, transportsName } from '../../protocol/wire/connection.ts';

const CLIENTS: Record<TransportsName, string> = {
  default: 'default clients: polling, then WebSocket',
  websocket: 'WebSocket-only clients',
  polling: 'polling-only clients',
};

/** Returns the transports that the clients used; null for another engine, which does not report them. */
export function transportsOf({ connections, environment, run }: Result): TransportsName | null {
  if (connections.transports) return connections.transports.configured;
  if (run.engine !== 'socketio-capacity') return null;
  // Results of older versions contain the configured transports, but not the number of connections by transport.
  const options = environment.settings.engineOptions as
    | { transports?: (typeof TRANSPORTS.default)[number][] }
    | undefined;
  return transportsName(options?.transports ?? TRANSPORTS.websocket);
}

/** Returns a text about the clients' transports and compression; null if unknown. */
export function clientsOf(result: Result): string | null {
  const name = transportsOf(result);
  const compression = name !== 'polling' && COMPRESSION[compressionOf(result) ?? 'off'];
  return name && [CLIENTS[name], compression].filter(Boolean).join(', ');
}

type Compression = 'on' | 'off' | 'not granted' | 'not asked for';

/** Texts about compression. There is no text if neither clients nor server use compression. */
const COMPRESSION: Record<Compression, string | undefined> = {
  on: 'compressed',
  off: undefined,
  'not granted': 'without the compression that they asked for',
  'not asked for': 'without the compression that this server gives to browsers',
};

/** Returns whether the connections were compressed, and why not; null for another engine. */
export function compressionOf({ connections: { compression }, run }: Result): Compression | null {
  if (compression === null) return run.engine === 'socketio-capacity' ? 'off' : null;
  const { asked, granted, byServer } = compression;
  if (asked) return granted > 0 ? 'on' : 'not granted';
  return byServer === true ? 'not asked for' : 'off';
}
