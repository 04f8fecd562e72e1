/**
 * Sends a message to the parent process. Does nothing if the parent has exited. The callback of `send` prevents an
 * uncaught EPIPE error.
 * @param onSettled called after the message was sent, or if the parent has exited
 */
export function sendToParent(message: unknown, onSettled = (): void => {}): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => onSettled());
  else onSettled();
}
