/** Whoever connects to a port of ours is a stranger until it has shown the token: it gets little of this process, and not for long. */
import type { Server, Socket } from 'node:net';

/** Connections without the token, or on the way to show it; and how long each may take for all it wants. */
const MAX_STRANGERS = 64;
const STRANGER_MS = 10_000;

/**
 * Ends connections of strangers after their time, and the oldest of them when there are too many.
 * @returns to be called with each that has shown the token
 */
export function watchStrangers(server: Server): (socket: Socket) => void {
  const strangers = new Map<string, Socket>();
  // TLS wraps a connection's socket in another one.
  const placeOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`;
  server.on('connection', (socket: Socket) => {
    const place = placeOf(socket);
    const end = () => strangers.delete(place) && socket.destroy();
    const timer = setTimeout(end, STRANGER_MS);
    strangers.set(place, socket);
    socket.once('close', () => {
      clearTimeout(timer);
      if (strangers.get(place) === socket) strangers.delete(place);
    });
    const [oldest] = strangers.values();
    if (strangers.size > MAX_STRANGERS && oldest) {
      strangers.delete(placeOf(oldest));
      oldest.destroy();
    }
  });
  return (socket) => strangers.delete(placeOf(socket));
}
