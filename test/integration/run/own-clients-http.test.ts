/** What the run's own clients leave at a server that they have logged in to by HTTP. */
import { test } from 'node:test';
import { promisify } from 'node:util';
import { come } from '../../../plugin/run/receivers/come.ts';
import { startChat } from '../../helpers/chat-server.ts';
import { clientsOf, HOLD, JOIN, welcome } from '../../helpers/own-clients.ts';
import { eventually } from '../../helpers/poll.ts';

/** Artillery's agents hang up after 4 s, Node's server after 5 s. */
const BEFORE_THEY_WOULD_MS = 3000;

test('a client that has logged in keeps no connection but that of Socket.IO', async (t) => {
  const { url, io } = await startChat(t, welcome, { onRequest: (_request, response) => response.end('{}') });
  const http = io.httpServer;
  const connections = promisify((done: (error: Error | null, count: number) => void) => http.getConnections(done));
  const flow = [{ post: { url: '/login', json: { user: 'ann' } } }, { get: { url: '/me' } }, JOIN, HOLD];
  const { clients } = await clientsOf(t, url, { flow });
  const { socket } = await come(clients.next(), new AbortController().signal);
  await eventually('that one is left', async () => (await connections()) === 1, BEFORE_THEY_WOULD_MS);
  socket.disconnect();
  await eventually('none is', async () => (await connections()) === 0);
});
