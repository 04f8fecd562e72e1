/** To close a server that somebody is connected to without having said anything: with TLS, Node waits two minutes for that. */
import type { Server, Socket } from 'node:net';

/**
 * @param server to be watched from its start
 * @returns ends all its connections, also those that `closeAllConnections` of Node's HTTPS server does not know yet
 */
export function watchSockets(server: Server): () => void {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  return () => {
    for (const socket of open) socket.destroy();
  };
}
