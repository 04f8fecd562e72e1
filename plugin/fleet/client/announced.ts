/** Values that a server announces in its Engine.IO handshake. */
import { type Announced, NOTHING_ANNOUNCED } from '../../../protocol/link/ends.ts';

/**
 * Most recently announced values. All connections share this object, because a server announces the same values to each
 * connection.
 */
let last = NOTHING_ANNOUNCED;

/**
 * Returns the values that a server announces.
 * @param open Engine.IO open packet as the server sent it; its values can have any type
 */
export function announcedIn({ maxPayload, pingInterval, pingTimeout }: Record<string, unknown>): Announced {
  const [maxPayloadBytes, pingIntervalMs, pingTimeoutMs] = [maxPayload, pingInterval, pingTimeout].map(countOf) as [
    number,
    number,
    number,
  ];
  const isSame =
    maxPayloadBytes === last.maxPayloadBytes &&
    pingIntervalMs === last.pingIntervalMs &&
    pingTimeoutMs === last.pingTimeoutMs;
  if (!isSame) last = { maxPayloadBytes, pingIntervalMs, pingTimeoutMs };
  return last;
}

function countOf(value: unknown): number {
  return typeof value === 'number' && value > 0 ? Math.min(Math.ceil(value), Number.MAX_SAFE_INTEGER) : 0;
}
