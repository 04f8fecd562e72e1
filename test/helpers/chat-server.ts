/** Socket.IO servers of somebody else's, in this process. */
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { Server, type ServerOptions } from 'socket.io';
import { instrument } from '../../server/instrument.ts';
import { TOKEN } from './app.ts';

export interface ChatServer {
  url: string;
  io: Server;
  close(): Promise<void>;
}

interface Options extends Partial<ServerOptions> {
  /** PEM. */
  tls?: { cert: string; key: string };
}

/** Without a line of ours. @param setUp its handlers */
export async function startChat(setUp: (io: Server) => void, { tls, ...options }: Options = {}): Promise<ChatServer> {
  const http = tls ? createTlsServer(tls) : createServer();
  const io = new Server(http, { serveClient: false, ...options });
  setUp(io);
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${(http.address() as AddressInfo).port}`,
    io,
    async close() {
      io.disconnectSockets(true);
      await io.close();
    },
  };
}

/** With `instrument(io)`, as worker w0; ends with the test. @returns what the option `control` takes, too */
export async function startInstrumented(
  t: { after(cleanUp: () => Promise<void>): void },
  setUp: (io: Server) => void,
  options: Options = {},
) {
  const server = await startChat(setUp, options);
  const { controlPort, close } = await instrument(server.io, { token: TOKEN, controlPort: 0, worker: 'w0' });
  t.after(async () => {
    await close();
    await server.close();
  });
  return { ...server, control: { urls: [`http://127.0.0.1:${controlPort}`], token: TOKEN } };
}

/** As `startChat`, until the test ends. */
export async function chatFor(t: TestContext, setUp: (io: Server) => void): Promise<ChatServer> {
  const chat = await startChat(setUp);
  t.after(() => chat.close());
  return chat;
}
