/** Interface of the WebSocket servers that can carry Socket.IO. */
import type { Server, ServerOptions } from 'socket.io';

/**
 * Entry of `WEBSOCKETS`: creates a Socket.IO server on a WebSocket server. It does not listen yet.
 * @param modules folder with the required packages, if they are not installed next to this package
 * @throws CapacityError NOT_INSTALLED
 */
export type AttachServer = (options: Partial<ServerOptions>, modules?: string) => Promise<AttachedServer>;

export interface AttachedServer {
  io: Server;
  /** Name and version of the WebSocket server, such as `ws 8.21.3`. */
  nameAndVersion: string;
  /**
   * Listens on a port.
   * @param port 0 lets the system choose a free port
   * @returns the port
   * @throws CapacityError PORT_UNAVAILABLE
   */
  listen(port: number, host: string): Promise<number>;
  /**
   * Stops accepting connections, and asks the clients to close theirs. Resolves when all connections are closed, or
   * immediately if the server was not listening. A second call does nothing.
   */
  close(): Promise<void>;
  /** Terminates the connections that `close()` is still waiting for, on any transport. */
  cut(): void;
}
