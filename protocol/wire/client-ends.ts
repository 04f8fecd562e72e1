/** Detects closes that `socket.io-client` reports in no event of the connection attempt: those before the namespace is connected. */
import type { Socket } from 'socket.io-client';

/**
 * Calls `onClosed` once, when the socket's connection closes or the server disconnects the socket.
 * @param socket socket that is connecting
 * @param onClosed gets Socket.IO's reason and the transport's details, such as a WebSocket's CloseEvent as `context`
 */
export function onceClosed(socket: Socket, onClosed: (reason: string, details: unknown) => void): void {
  let isCalled = false;
  const call = (reason: string, details: unknown) => {
    if (!isCalled) onClosed(reason, details);
    isCalled = true;
  };
  socket.once('disconnect', call);
  // While connecting, the Manager does not report a close without an error. Once connected, its reason is better and comes in the same
  // turn, so it gets precedence.
  const { engine } = socket.io as { engine?: typeof socket.io.engine };
  engine?.once('close', (reason, details) => process.nextTick(call, reason, details));
}
