/**
 * Keeps what socket.io-client throws while it reads, as for a handshake that is not JSON, to the connection it was reading
 * for: there is no caller that could catch it.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

type OnError = (error: Error) => void;

const owner = new AsyncLocalStorage<OnError>();

/** @param onError called for what is thrown later on behalf of `open`, once `isolateExceptions` was called */
export function openIsolated(open: () => void, onError: OnError): void {
  owner.run(onError, open);
}

/** For a process of its own; an exception of nobody's still ends it. */
export function isolateExceptions(): void {
  process.on('uncaughtException', (error) => {
    const onError = owner.getStore();
    if (onError) onError(error);
    else {
      console.error(error);
      process.exit(1);
    }
  });
}
