/**
 * Three applications with pages, for recordings of a browser: a form with a cookie, a JSON login with a token, and an
 * open chat.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Page } from 'playwright-core';
import type { Server, Socket } from 'socket.io';
import { startChat } from './chat-server.ts';
import type { Cleaner } from './raw-listen.ts';

export const PASSWORD = 'Correct-horse-7';
export const MESSAGE = 'good morning everybody';

interface App {
  /** Handles a request. Returns false if the page of the client should be sent. */
  serve(request: IncomingMessage, response: ServerResponse, body: string): boolean;
  setUp(io: Server): void;
  page: string;
  /** Plays a user until the user's message is received. */
  use(page: Page, url: string): Promise<void>;
}

const page = (body: string, path = '/socket.io/') =>
  `<!doctype html><title>app</title><link rel="icon" href="data:,"><script src="${path}socket.io.js"></script><body>
  <ul id="log"></ul>${body}`;
const show = (event: string, of: string) =>
  `socket.on('${event}', (m) => { const li = document.createElement('li'); li.textContent = ${of}; log.append(li); });`;
const say = `<form id="f"><input id="m"><button>Say</button></form>`;

async function talk(page: Page): Promise<void> {
  await page.fill('#m', MESSAGE);
  await page.click('#f button');
  await page.locator('#log li', { hasText: MESSAGE }).first().waitFor();
}

/** Application with a form that sets a session cookie. The handshake requires the cookie. */
function formApp(): App {
  const sessions = new Map<string, { csrf: string; user?: string }>();
  const sessionOf = ({ headers }: IncomingMessage) =>
    sessions.get(/app\.sid=([\w-]+)/.exec(headers.cookie ?? '')?.[1] ?? '');
  return {
    page: page(`${say}<script>const socket = io(); ${show('said', 'm.text')}
      f.onsubmit = () => { socket.emit('say', { text: m.value, mood: 'fine' }); return false; };</script>`),
    serve(request, response, body) {
      const session = sessionOf(request);
      if (request.url === '/login' && request.method === 'GET') {
        const [id, csrf] = [randomUUID(), randomUUID().replaceAll('-', '')];
        sessions.set(id, { csrf });
        response.setHeader('Set-Cookie', `app.sid=${id}; HttpOnly; Path=/`);
        response.setHeader('Content-Type', 'text/html');
        response.end(`<form method="post" action="/login"><input type="hidden" name="_csrf" value="${csrf}">
          <input name="username"><input name="passwort" type="password"><button>Go</button></form>`);
        return true;
      }
      if (request.url === '/login') {
        const form = new URLSearchParams(body);
        const isRight = session && form.get('_csrf') === session.csrf && form.get('passwort') === PASSWORD;
        if (isRight) session.user = String(form.get('username'));
        response.writeHead(isRight ? 302 : 403, { Location: '/' }).end();
        return true;
      }
      if (request.url === '/' && !session?.user) {
        response.writeHead(302, { Location: '/login' }).end();
        return true;
      }
      return false;
    },
    setUp(io) {
      io.use((socket, next) => next(sessionOf(socket.request)?.user ? undefined : new Error('log in first')));
      io.on('connection', (socket) =>
        socket.on('say', ({ text }) =>
          io.emit('said', { id: randomUUID(), from: sessionOf(socket.request)?.user, text }),
        ),
      );
    },
    async use(page, url) {
      await page.goto(url);
      await page.fill('[name=username]', 'ann');
      await page.fill('[name=passwort]', PASSWORD);
      await page.click('button');
      await page.locator('#m').waitFor();
      await talk(page);
    },
  };
}

/** Application with a JSON login that returns a token for `auth`. A join is acknowledged. */
function tokenApp(): App {
  const tokens = new Map<string, string>();
  return {
    page: page(`<form id="l"><input id="u"><input id="p" type="password"><button>Go</button></form>${say}<script>let socket;
      l.onsubmit = () => { (async () => {
        const answer = await fetch('/api/auth/login', { method: 'POST', headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify({ email: u.value, password: p.value }) });
        const { data } = await answer.json();
        const me = await (await fetch('/api/me', { headers: { Authorization: 'Bearer ' + data.accessToken } })).json();
        socket = io({ auth: { token: data.accessToken, userId: me.id }, transports: ['websocket'] });
        ${show('message:new', 'm.body')}
        socket.emit('channel:open', { channel: 'general' }, () => { m.dataset.ready = '1'; });
      })(); return false; };
      f.onsubmit = () => { socket.emit('message:send', { clientId: crypto.randomUUID(), channel: 'general', body: m.value },
        () => {}); return false; };</script>`),
    serve(request, response, body) {
      const json = (value: unknown, status = 200) => {
        response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
        return true;
      };
      if (request.url === '/api/auth/login') {
        const { email, password } = JSON.parse(body);
        if (password !== PASSWORD) return json({ error: 'wrong' }, 401);
        const token = `eyJhbGciOiJub25lIn0.${Buffer.from(JSON.stringify({ sub: email, jti: randomUUID() })).toString('base64url')}.`;
        tokens.set(token, randomUUID());
        return json({ data: { accessToken: token, expiresIn: 3600 } });
      }
      if (request.url === '/api/me') {
        const id = tokens.get(request.headers.authorization?.replace('Bearer ', '') ?? '');
        return id ? json({ id, name: 'ann' }) : json({}, 401);
      }
      return false;
    },
    setUp(io) {
      io.use(({ handshake: { auth } }, next) =>
        next(auth.userId && tokens.get(auth.token) === auth.userId ? undefined : new Error('jwt invalid')),
      );
      io.on('connection', (socket) => {
        socket.on('channel:open', ({ channel }, done) => {
          void socket.join(channel);
          done({ ok: true, channel });
        });
        socket.on('message:send', ({ clientId, channel, body }, done) => {
          io.to(channel).emit('message:new', { id: randomUUID(), clientId, body });
          done({ ok: true });
        });
      });
    },
    async use(page, url) {
      await page.goto(url);
      await page.fill('#u', 'ann@example.com');
      await page.fill('#p', PASSWORD);
      await page.click('#l button');
      await page.locator('#m[data-ready]').waitFor({ state: 'attached' });
      await talk(page);
    },
  };
}

/**
 * Application with rooms in a namespace and a custom path. The client starts with polling, and receives the id for its
 * join.
 */
function openApp(): App {
  const members = new Map<string, Socket>();
  return {
    page: page(
      `${say}<script>const socket = io('/rooms', { path: '/live/', query: { v: '2' } });
      socket.on('welcome', ({ memberId }) => socket.emit('enter', { memberId, room: 'kitchen' }));
      socket.on('entered', () => { m.dataset.ready = '1'; }); ${show('said', 'm')}
      f.oninput = () => socket.emit('typing', 'kitchen');
      f.onsubmit = () => { socket.emit('say', 'kitchen', m.value); return false; };</script>`,
      '/live/',
    ),
    serve: () => false,
    setUp(io) {
      io.of('/rooms').on('connection', (socket) => {
        const memberId = randomUUID();
        members.set(memberId, socket);
        socket.emit('welcome', { memberId });
        socket.on('enter', ({ memberId: id, room }) => {
          if (members.get(id) !== socket) return;
          void socket.join(room);
          socket.emit('entered', room);
        });
        socket.on('say', (room, text) => {
          if (socket.rooms.has(room)) io.of('/rooms').to(room).emit('said', text);
        });
      });
    },
    async use(page, url) {
      await page.goto(url);
      await page.locator('#m[data-ready]').waitFor({ state: 'attached' });
      await talk(page);
    },
  };
}

const APPS = { form: formApp, token: tokenApp, open: openApp };
export type AppName = keyof typeof APPS;

/**
 * Starts the application.
 * @returns its URL, and a function that plays its user in a browser
 */
export async function startApp(t: Cleaner, name: AppName) {
  const app = APPS[name]();
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    if (app.serve(request, response, await text(request))) return;
    response.setHeader('Content-Type', 'text/html').end(app.page);
  };
  const server = await startChat(t, app.setUp, {
    serveClient: true,
    ...(name === 'open' && { path: '/live/' }),
    onRequest: (request, response) => void answer(request, response),
  });
  return { ...server, use: (page: Page) => app.use(page, server.url) };
}
