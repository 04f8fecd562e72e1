/** A Socket.IO server of somebody else's, without a line of ours. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server } from 'socket.io';

export interface ChatServer {
  url: string;
  io: Server;
  close(): Promise<void>;
}

/** @param set up its handlers */
export async function startChat(setUp: (io: Server) => void): Promise<ChatServer> {
  const http = createServer();
  const io = new Server(http, { serveClient: false });
  setUp(io);
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    io,
    async close() {
      io.disconnectSockets(true);
      await io.close();
    },
  };
}
