/** The interface of a WebSocket server, which accepts the connections of Socket.IO. */
import type { Server, ServerOptions } from 'socket.io';

/**
 * An entry of `WEBSOCKETS`. Creates a Socket.IO server that runs on it; nothing listens yet.
 * @param modules folder with the packages that it needs, if they are not installed beside this one
 * @throws CapacityError NOT_INSTALLED
 */
export type Attach = (options: Partial<ServerOptions>, modules?: string) => Promise<AttachedServer>;

export interface AttachedServer {
  io: Server;
  /** As in results: `ws 8.21.3`. */
  nameAndVersion: string;
  /**
   * @param port 0 lets the system choose a free one
   * @returns the port
   * @throws CapacityError PORT_UNAVAILABLE
   */
  listen(port: number, host: string): Promise<number>;
  /**
   * Stops accepting connections, and asks the clients to close theirs. Resolves when none is open; at once if nothing
   * listened. Idempotent.
   */
  close(): Promise<void>;
  /** Terminates the connections that `close()` still waits for, whatever their transport. */
  cut(): void;
}
