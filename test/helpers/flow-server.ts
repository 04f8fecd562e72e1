/** Server for flows of other engines: HTTP and Socket.IO on the same port. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import type { Server, Socket } from 'socket.io';
import { startChat } from './chat-server.ts';
import type { Cleaner } from './raw-listen.ts';

type Answer = (...values: unknown[]) => void;

const FILMS = ['One', 'Two', 'Three'].map((title, index) => ({ id: index + 1, title }));

/**
 * Starts the server. It is closed after the test.
 * @returns its URL
 */
export async function startFlowServer(t: Cleaner, path = '/socket.io/'): Promise<string> {
  const tokens = new Set<string>();
  const issue = () => {
    const token = `token-${tokens.size}`;
    tokens.add(token);
    return token;
  };
  const { io, url } = await startChat(t, () => {}, {
    path,
    onRequest: (request, response) => void serve(request, response, issue),
  });
  io.on('connection', (socket) => addHandlers(io, socket));
  io.of('/secured').on('connection', (socket) => {
    socket.on('login', ({ name, password }) => name === password && socket.emit('welcome', { token: issue() }));
    socket.on('enter', (room: string, answer?: Answer) => {
      const isKnown = tokens.has(String(socket.request.headers['x-auth-token']));
      if (isKnown) socket.emit('entered', `You are in the secured ${room}`);
      answer?.(isKnown);
    });
  });
  io.of('/guarded')
    .use((socket, next) => next(tokens.has(socket.handshake.auth.token) ? undefined : new Error('bad token')))
    .on('connection', (socket) => void socket.on('check', (answer: Answer) => answer(true)));
  return url;
}

function addHandlers(io: Server, socket: Socket): void {
  let count = 0;
  socket.on('enter', (room: string) => {
    void socket.join(room);
    socket.emit('entered', `You are in ${room}`);
  });
  socket.on('say', (room: string, ...words) => void io.in(room).emit('said', room, ...words));
  socket.on('pair', (first, second, answer: Answer) => answer(first, second));
  socket.on('object', (release, answer: Answer) => answer({ release }));
  socket.on('dictate', (...words) => {
    for (const word of words) socket.emit('word', word);
  });
  socket.on('inspect', (question, answer: Answer) =>
    answer({ told: question, query: socket.handshake.query, header: socket.handshake.headers['x-auth-token'] }),
  );
  socket.on('echo', (text, answer?: Answer) => {
    if (text === 'ping') answer?.('pong', { answer: 42 });
    if (text === 'count') answer?.('counted', { answer: ++count });
    if (text === 'total') answer?.('counted', { answer: count });
    socket.emit('echoed', text);
  });
}

async function serve(request: IncomingMessage, response: ServerResponse, issue: () => string): Promise<void> {
  const { pathname } = new URL(request.url ?? '/', 'http://localhost');
  const reply = (body: unknown, status = 200) => {
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
  };
  if (pathname === '/token') reply({ token: issue(), input: await json(request).catch(() => ({})) });
  else if (pathname === '/films') reply(FILMS);
  else if (pathname.startsWith('/films/')) reply(FILMS.find(({ id }) => id === Number(pathname.slice(7))));
  else if (pathname === '/cookie' && request.method === 'GET') reply({ cookie: request.headers.cookie });
  else if (pathname === '/cookie') {
    response.setHeader('Set-Cookie', 'seen=yes');
    reply({});
  } else reply({}, pathname === '/any' ? 200 : 404);
}
