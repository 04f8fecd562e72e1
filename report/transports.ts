/** What kind of clients the figures are of: it changes them more than most tunings do. */
import { TRANSPORTS, type TransportsName, transportsName } from '../protocol/connection.ts';
import type { Result } from '../protocol/result/result.ts';
import { counted, integer } from './format.ts';

const CLIENTS: Record<TransportsName, string> = {
  default: 'default clients: polling, then WebSocket',
  websocket: 'WebSocket-only clients',
  polling: 'polling-only clients',
};

/** @returns null if another engine connected: it does not report its transports */
export function transportsOf({ connections, environment, run }: Result): TransportsName | null {
  if (connections.transports) return connections.transports.configured;
  if (run.engine !== 'socketio-capacity') return null;
  // Older versions counted no transports, but knew the option.
  const options = environment.settings.engineOptions as
    | { transports?: (typeof TRANSPORTS.default)[number][] }
    | undefined;
  return transportsName(options?.transports ?? TRANSPORTS.websocket);
}

/** @returns null if that is not known */
export function clientsOf(result: Result): string | null {
  const name = transportsOf(result);
  return name && CLIENTS[name];
}

/** Null for connections that all began with WebSocket. */
export function transportNote({ connections: { transports } }: Result): string | null {
  if (transports === null || transports.upgraded + transports.polling === 0) return null;
  const { websocket, upgraded, polling, upgradeFailures } = transports;
  const failed = Object.entries(upgradeFailures).map(([cause, count]) => `${cause} ${integer(count)}`);
  return (
    `${counted(upgraded, 'connection')} upgraded, ${integer(polling)} stayed on polling, ${integer(websocket)} began with WebSocket` +
    (failed.length > 0 ? `; failed upgrades: ${failed.join(', ')}` : '')
  );
}
