/** Interface of the WebSocket servers that Socket.IO can run on. */
import type { Server, ServerOptions } from 'socket.io';

/**
 * An entry of `WEBSOCKETS`: creates a Socket.IO server on it, which does not listen yet.
 * @param modules folder with the packages that it needs, if they are not installed next to this package
 * @throws CapacityError NOT_INSTALLED
 */
export type Attach = (options: Partial<ServerOptions>, modules?: string) => Promise<AttachedServer>;

export interface AttachedServer {
  io: Server;
  /** For example `ws 8.21.3`. */
  nameAndVersion: string;
  /** Returns the port. @param port 0 lets the system choose a free one @throws CapacityError PORT_UNAVAILABLE */
  listen(port: number, host: string): Promise<number>;
  /**
   * Stops accepting connections, and asks the clients to close theirs. Resolves when all are closed, at once if the server was not
   * listening. Idempotent.
   */
  close(): Promise<void>;
  /** Terminates the connections that `close()` still waits for, on any transport. */
  cut(): void;
}
