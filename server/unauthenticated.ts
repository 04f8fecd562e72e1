/** Limits unauthenticated connections of a server: 64 at a time, 10 s each; and checks their token. */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Server, Socket } from 'node:net';

/** Limit of open connections that have not sent the token yet, and the time that each has to send it. */
const MAX_UNAUTHENTICATED = 64;
const AUTHENTICATION_MS = 10_000;

/**
 * Closes unauthenticated connections after their time, and the oldest one when there are too many.
 * @param server that does not listen yet
 */
export function watchConnections(server: Server) {
  const open = new Set<Socket>();
  const unauthenticated = new Map<string, Socket>();
  // Identified by address, because TLS wraps a connection's socket in another object.
  const addressOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`;
  server.on('connection', (socket: Socket) => {
    const address = addressOf(socket);
    const timer = setTimeout(() => unauthenticated.delete(address) && socket.destroy(), AUTHENTICATION_MS);
    open.add(socket);
    unauthenticated.set(address, socket);
    socket.once('close', () => {
      clearTimeout(timer);
      open.delete(socket);
      if (unauthenticated.get(address) === socket) unauthenticated.delete(address);
    });
    const [oldest] = unauthenticated.values();
    if (unauthenticated.size > MAX_UNAUTHENTICATED && oldest) {
      unauthenticated.delete(addressOf(oldest));
      oldest.destroy();
    }
  });
  return {
    /** Lifts the limits of a connection that has sent the token. */
    admit(socket: Socket): void {
      unauthenticated.delete(addressOf(socket));
    },
    /** Closes all connections. Node's HTTPS server would wait two minutes for those still in their TLS handshake. */
    end(): void {
      for (const socket of open) socket.destroy();
    },
  };
}

/** Checks the control token in constant time, before anything else in a request is read. */
export function tokenCheck(token: string): (given: unknown) => boolean {
  const expected = digest(token);
  // The length is no secret, so texts of another length are not hashed.
  return (given) =>
    typeof given === 'string' && given.length === token.length && timingSafeEqual(digest(given), expected);
}

/** Returns the token of the header `Authorization: Bearer <token>`. */
export function bearerOf({ headers }: IncomingMessage): string | undefined {
  return /^Bearer (.*)$/i.exec(headers.authorization ?? '')?.[1];
}

/** Digests all have the same length, which timingSafeEqual requires. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
