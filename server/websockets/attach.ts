/** What the app asks of a WebSocket server: the one that connections of Socket.IO come to. */
import type { Server, ServerOptions } from 'socket.io';

/** An entry of `WEBSOCKETS`. Makes a Socket.IO server that runs on it; nothing listens yet. */
export type Attach = (options: Partial<ServerOptions>) => Promise<AttachedServer>;

export interface AttachedServer {
  io: Server;
  /** As results have it: `ws 8.21.3`. */
  nameAndVersion: string;
  /**
   * @param port 0 asks the system for a free one
   * @returns the port
   * @throws CapacityError PORT_TAKEN, LISTEN_FAILED
   */
  listen(port: number, host: string): Promise<number>;
  /**
   * Takes no more connections, and asks the clients to close theirs. Resolves when none is open; at once where nothing
   * listened. Idempotent.
   */
  close(): Promise<void>;
  /** Cuts the connections that `close()` still waits for, whatever their transport. */
  cut(): void;
}
