/**
 * Sends a message to the parent process; does nothing if the parent has ended. The callback keeps Node from throwing EPIPE as an uncaught
 * error.
 * @param onSettled called once the message was sent or the parent has ended
 */
export function sendToParent(message: unknown, onSettled = (): void => {}): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => onSettled());
  else onSettled();
}
