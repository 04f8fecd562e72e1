/**
 * Whole runs against applications that want a login, or send to rooms, by the file that `init` writes, beside a count of our
 * own: connections, memory and CPU in /proc, and the copies that one socket.io-client gets. With NEIGHBOURS_CONNECTIONS=400,
 * this is the table in docs/guide/own-server.md.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { io, type Socket } from 'socket.io-client';
import { Beside } from '../../helpers/beside.ts';
import { type Neighbour, startNeighbour, whyNot } from '../../helpers/neighbours.ts';
import { startRedis } from '../../helpers/redis.ts';
import { goodResult, startRun } from '../../helpers/run.ts';
import { tempStateDir } from '../../helpers/stack.ts';

/** In which a client has to do something before it is one, or that sends to rooms. */
interface Application extends Neighbour {
  /** Its options beside the URL. */
  init: string[];
  event: string;
  /** Where the id is in its first argument. */
  id: string;
  /** Comes in as a user. */
  enter(url: string): Promise<Socket>;
  connections?: number;
}

/** More than `init` writes, in the same time: their CPU is to be more than noise. */
const BROADCASTS = 100;
const EVERY = 0.2;
const CONNECTIONS = Number(process.env.NEIGHBOURS_CONNECTIONS ?? 40);
const CLI = fileURLToPath(new URL('../../../plugin/cli/main.ts', import.meta.url));
const run = promisify(execFile);

const CHAT = {
  init: ['--publish', '["chat message", {"id": "$id"}]'],
  event: 'chat message',
  id: 'id',
  enter: async (url: string) => open(url),
};

async function post(url: string, body: object): Promise<Record<string, string>> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(url, { method: 'POST', body: JSON.stringify(body), headers });
  return (await answer.json()) as Record<string, string>;
}

function open(url: string, options: object = {}): Socket {
  return io(url, { transports: ['websocket'], forceNew: true, reconnection: false, ...options });
}

const USER = { username: 'ada', password: 'changeit' };
const LOGIN = JSON.stringify(USER);
const PRIVATE = 'private messages, four workers and Redis';

const python = { folder: 'python', command: 'bin/python' };

const APPLICATIONS: Application[] = [
  {
    ...{ name: 'Express with a JWT in the handshake', file: 'jwt.mjs', folder: 'express' },
    init: [
      ...['--login', `{"post": {"url": "/login", "json": ${LOGIN}, "capture": {"json": "$.token", "as": "token"}}}`],
      ...['--headers', '{"authorization": "bearer {{ token }}"}', '--publish', '["message", {"id": "$id"}]'],
    ],
    event: 'message',
    id: 'id',
    async enter(url) {
      const { token } = await post(`${url}/login`, USER);
      return open(url, { extraHeaders: { authorization: `bearer ${token}` } });
    },
  },
  {
    ...{ name: 'Express with the cookie of a login', file: 'session.mjs', folder: 'express' },
    ...CHAT,
    init: ['--login', '{"post": {"url": "/login", "form": {"username": "ada"}}}', ...CHAT.init],
    async enter(url) {
      const body = new URLSearchParams({ username: 'ada' });
      const { headers } = await fetch(`${url}/login`, { method: 'POST', body, redirect: 'manual' });
      const cookies = headers.getSetCookie().map((one) => one.split(';')[0]);
      return open(url, { extraHeaders: { cookie: cookies.join('; ') } });
    },
  },
  {
    ...{ name: PRIVATE, file: 'private.mjs', folder: 'express' },
    // Its users are told who they are, and only one of them gets a message. All hear of each that comes.
    connections: CONNECTIONS / 4,
    init: [
      ...['--auth', '{"username": "{{ $uuid }}"}'],
      ...['--publish', '["private message", {"content": "$id", "to": "$room"}]'],
    ],
    event: 'private message',
    id: 'content',
    enter: async (url) => open(url, { auth: { username: 'ada' } }),
  },
  {
    ...{ name: 'a login by event', file: 'login-event.mjs' },
    init: ['--emit', `["login", ${LOGIN}]`, '--publish', '["add", {"id": "$id"}]'],
    event: 'monitor',
    id: 'id',
    async enter(url) {
      const socket = open(url);
      await socket.emitWithAck('login', USER);
      return socket;
    },
  },
  {
    ...{ name: 'NestJS with a guard', file: 'nest.ts', folder: 'nest' },
    init: [
      '--login',
      `{"post": {"url": "/auth/login", "json": ${LOGIN}, "capture": {"json": "$.access_token", "as": "token"}}}`,
      ...['--auth', '{"token": "{{ token }}"}', '--publish', '["message", {"id": "$id"}]'],
    ],
    event: 'message',
    id: 'id',
    async enter(url) {
      const { access_token: token } = await post(`${url}/auth/login`, USER);
      return open(url, { auth: { token } });
    },
  },
  {
    ...{ name: 'Feathers', file: 'feathers.mjs', folder: 'feathers' },
    ...CHAT,
    init: ['--publish', '["create", "messages", {"text": "hello", "ref": "$id"}]'],
    event: 'messages created',
    id: 'ref',
  },
  ...['threading', 'eventlet'].map((mode) => ({
    ...{ ...CHAT, ...python, name: `Flask-SocketIO, ${mode}`, file: 'chat_flask.py', env: { ASYNC_MODE: mode } },
  })),
  {
    ...{ ...CHAT, ...python, name: 'python-socketio, uvicorn with four workers and Redis' },
    ...{ file: 'chat_uvicorn.py', env: { WORKERS: '4' } },
  },
];

/** @returns what `init` has written */
async function initiated(directory: string, options: string[]): Promise<string> {
  const out = join(directory, 'capacity.yml');
  await run(process.execPath, [CLI, 'init', '--out', out, ...options]);
  return readFileSync(out, 'utf8').replace('every: 1, count: 20', `every: ${EVERY}, count: ${BROADCASTS}`);
}

/** A run takes more than a minute. */
const skip = process.env.CAPACITY_NEIGHBOURS === undefined && 'CAPACITY_NEIGHBOURS is not set';

describe('applications', { concurrency: 1, skip }, () => {
  for (const application of APPLICATIONS) {
    const { name, init, event, id, enter, connections: target = CONNECTIONS } = application;
    it(name, { skip: whyNot(application) }, async (t) => {
      const redis = await startRedis(t);
      const url = await startNeighbour(t, application, { REDIS_URL: redis.url });
      const begunAt = Date.now();
      const options = ['--url', url, '--connections', `${target}`, ...init];
      const script = await initiated(dirname(tempStateDir(t)), options);

      const listener = await enter(url);
      t.after(() => listener.disconnect());
      const beside = new Beside(url);
      t.after(() => beside.close());
      listener.on(event, (message) => beside.onMessage(message[id]));
      const { connections, delivery, memory, cpu } = await goodResult(startRun(t, { script }));
      const minutes = (Date.now() - begunAt) / 60_000;

      const isPrivate = name === PRIVATE;
      const copies = isPrivate ? BROADCASTS : BROADCASTS * target;
      const counted = beside.figures(target / 2 + 2);
      const kilobytes = memory.perConnectionBytes;
      t.diagnostic(`${name} ${JSON.stringify({ minutes, init, counted, kilobytes, cpu: cpu.worker })}`);
      assert.equal(connections.peak, target);
      assert.deepEqual([delivery?.expected, delivery?.received], [copies, copies]);
      // Only the users that it goes to get a private message.
      assert.equal(counted.messages, isPrivate ? 0 : BROADCASTS);
      // The listener and one publisher of the run.
      assert.equal(counted.connections, target + 2);
    });
  }
});
