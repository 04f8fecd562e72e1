/** Whoever connects to a port of ours is a stranger until it has shown the token: it gets little of this process, and not for long. */
import type { Server, Socket } from 'node:net';

/** Connections without the token, or on the way to show it; and how long each may take for all it wants. */
const MAX_STRANGERS = 64;
const STRANGER_MS = 10_000;

/**
 * Ends connections of strangers after their time, and the oldest of them when there are too many.
 * @param server to be watched from its start
 */
export function watchConnections(server: Server) {
  const open = new Set<Socket>();
  const strangers = new Map<string, Socket>();
  // TLS wraps a connection's socket in another one.
  const placeOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`;
  server.on('connection', (socket: Socket) => {
    const place = placeOf(socket);
    const timer = setTimeout(() => strangers.delete(place) && socket.destroy(), STRANGER_MS);
    open.add(socket);
    strangers.set(place, socket);
    socket.once('close', () => {
      clearTimeout(timer);
      open.delete(socket);
      if (strangers.get(place) === socket) strangers.delete(place);
    });
    const [oldest] = strangers.values();
    if (strangers.size > MAX_STRANGERS && oldest) {
      strangers.delete(placeOf(oldest));
      oldest.destroy();
    }
  });
  return {
    /** To be called with each that has shown the token. */
    admit(socket: Socket): void {
      strangers.delete(placeOf(socket));
    },
    /** Ends all, also those that Node's HTTPS server does not know yet, for which its closing would wait two minutes. */
    end(): void {
      for (const socket of open) socket.destroy();
    },
  };
}
