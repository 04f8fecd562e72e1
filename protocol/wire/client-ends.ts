/** The ends of a connection that `socket.io-client` reports in none of the events of an attempt: it closes before the namespace opens. */
import type { Socket } from 'socket.io-client';

/**
 * Calls `onClosed` once, when the connection under the socket closes or the server sends the socket away.
 * @param socket that has been told to connect
 * @param onClosed gets Socket.IO's reason, and the details of the transport, such as the CloseEvent of a WebSocket as `context`
 */
export function onceClosed(socket: Socket, onClosed: (reason: string, details: unknown) => void): void {
  let isCalled = false;
  const call = (reason: string, details: unknown) => {
    if (!isCalled) onClosed(reason, details);
    isCalled = true;
  };
  socket.once('disconnect', call);
  // While it opens, the Manager does not notice a close without an error. Later it gives the better reason, in this turn.
  const { engine } = socket.io as { engine?: typeof socket.io.engine };
  engine?.once('close', (reason, details) => process.nextTick(call, reason, details));
}
