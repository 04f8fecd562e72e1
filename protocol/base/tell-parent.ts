/**
 * Sends a message to the process that forked this one. A parent that has ended loses the message: without a callback, Node
 * would throw its EPIPE as an uncaught error.
 * @param onSettled called once the message was sent or the parent has gone
 */
export function tellParent(message: unknown, onSettled = (): void => {}): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => onSettled());
  else onSettled();
}
