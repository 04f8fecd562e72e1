/** Limits the unauthenticated connections of a server to 64 at a time and 10 s each, and checks their token. */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Server, Socket } from 'node:net';

/** Maximum number of open connections that have not yet sent the token, and the time in which each must send it. */
const MAX_UNAUTHENTICATED = 64;
const AUTHENTICATION_MS = 10_000;

/**
 * Closes unauthenticated connections after their time. If there are too many, the oldest is closed.
 * @param server a server that does not listen yet
 */
export function limitUnauthenticatedConnections(server: Server) {
  const open = new Set<Socket>();
  const unauthenticated = new Map<string, Socket>();
  // Identifies a connection by its address, because TLS wraps the socket in another object.
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
    /** Removes the limits from a connection that has sent the token. */
    admit(socket: Socket): void {
      unauthenticated.delete(addressOf(socket));
    },
    /** Closes all connections. Node's HTTPS server would wait two minutes for connections in their TLS handshake. */
    end(): void {
      for (const socket of open) socket.destroy();
    },
  };
}

/** Returns a function that checks the control token in constant time. The check precedes any other use of a request. */
export function tokenCheck(token: string): (given: unknown) => boolean {
  const expected = digest(token);
  // The length of the token is not secret, so texts with another length need no hash.
  return (given) =>
    typeof given === 'string' && given.length === token.length && timingSafeEqual(digest(given), expected);
}

/** Returns the token of the header `Authorization: Bearer <token>`. */
export function bearerToken({ headers }: IncomingMessage): string | undefined {
  return /^Bearer (.*)$/i.exec(headers.authorization ?? '')?.[1];
}

/** Returns a digest. timingSafeEqual requires equal lengths, and all digests have the same length. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
