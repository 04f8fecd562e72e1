/** Values that a server announces in its Engine.IO handshake, such as its ping interval. */
import { type HandshakeSettings, NO_HANDSHAKE_SETTINGS } from '../../../protocol/link/close-kinds.ts';

/**
 * Values from the most recent handshake. All connections share this object, because a server announces the same values
 * to each connection.
 */
let last = NO_HANDSHAKE_SETTINGS;

/**
 * Returns the values that a server announces in its handshake.
 * @param open Engine.IO open packet as the server sent it; its values can have any type
 */
export function handshakeSettingsOf({
  maxPayload,
  pingInterval,
  pingTimeout,
}: Record<string, unknown>): HandshakeSettings {
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
