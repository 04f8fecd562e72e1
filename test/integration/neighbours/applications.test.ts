/**
 * Tests runs with the file that `init` writes, for applications that require a login or send to rooms. Independent
 * counts check the runs: connections and CPU from /proc, V8's memory by the application itself, and copies that a
 * socket.io-client receives. The options of `init` are those in docs/guide/logins.md. NEIGHBOURS_CONNECTIONS=400 gives
 * the table in docs/method/applications.md.
 */
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { io, type Socket } from 'socket.io-client';
import { Beside } from '../../helpers/beside.ts';
import { heapTruth } from '../../helpers/heap-truth.ts';
import { type Neighbour, startNeighbour, whyNot } from '../../helpers/neighbours.ts';
import { startRedis } from '../../helpers/redis.ts';
import { goodResult, startRun } from '../../helpers/run.ts';
import { tempStateDir } from '../../helpers/stack.ts';

/** An application that requires a login, or that sends to rooms. */
interface Application extends Neighbour {
  /** Options of `init` beside the URL, or the heading of the command in docs/guide/logins.md. */
  init: string[] | string;
  event: string;
  /** Key of the id in the first argument of the event. */
  id: string;
  /** Connects a user who is logged in. */
  connectUser(url: string): Promise<Socket>;
  connections?: number;
}

/** Number of broadcasts. It is higher than in the file that `init` writes, so that their CPU exceeds the noise. */
const BROADCASTS = 100;
const EVERY = 0.2;
const CONNECTIONS = Number(process.env.NEIGHBOURS_CONNECTIONS ?? 40);
/**
 * Minimum number of connections for a comparison of memory. With fewer, objects that V8 keeps for all connections are
 * more than a tenth of the growth.
 */
const ENOUGH_FOR_MEMORY = 100;
const CLI = fileURLToPath(new URL('../../../plugin/cli/main.ts', import.meta.url));
const run = promisify(execFile);

const CHAT = {
  init: ['--publish', '["chat message", {"id": "$id"}]'],
  event: 'chat message',
  id: 'id',
  connectUser: async (url: string) => open(url),
};

async function post(url: string, body: object): Promise<Record<string, string>> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(url, { method: 'POST', body: JSON.stringify(body), headers });
  return (await answer.json()) as Record<string, string>;
}

function open(url: string, options: object = {}): Socket {
  return io(url, { transports: ['websocket'], forceNew: true, reconnection: false, ...options });
}

async function withFormLogin(url: string): Promise<Socket> {
  const { headers } = await fetch(`${url}/login`, {
    method: 'POST',
    body: new URLSearchParams(USER),
    redirect: 'manual',
  });
  const cookies = headers.getSetCookie().map((cookie) => cookie.split(';')[0]);
  return open(url, { extraHeaders: { cookie: cookies.join('; ') } });
}

const PAGE = readFileSync(fileURLToPath(new URL('../../../docs/guide/logins.md', import.meta.url)), 'utf8');

/**
 * @param heading heading in docs/guide/logins.md
 * @returns the options of `init` below the heading, without the URL
 */
function optionsOf(heading: string): string[] {
  const [, command = ''] =
    PAGE.split(`## ${heading}\n`)[1]?.match(/npx socketio-capacity init --url \S+([\s\S]*?)\n```/) ?? [];
  assert.ok(command, heading);
  const words = execFileSync('sh', ['-c', `printf '%s\\0' ${command}`], { encoding: 'utf8' });
  return words.split('\0').slice(0, -1);
}

const USER = { username: 'ada', password: 'changeit' };
const TOKEN = 'a-token-of-your-server';
/** Environment variables in the commands of the page. */
const ENV = { PASSWORD: USER.password, TOKEN };
const PRIVATE = 'private messages, four workers and Redis';

const python = { folder: 'python', command: 'bin/python' };

const APPLICATIONS: Application[] = [
  {
    ...{ name: 'Express with a JWT in the handshake', file: 'jwt.mjs', folder: 'express' },
    init: 'Express with a JWT',
    event: 'message',
    id: 'id',
    async connectUser(url) {
      const { token } = await post(`${url}/login`, USER);
      return open(url, { extraHeaders: { authorization: `bearer ${token}` } });
    },
  },
  {
    ...{ name: 'Express with the cookie of a login', file: 'session.mjs', folder: 'express' },
    ...CHAT,
    init: 'Express with a session cookie',
    connectUser: withFormLogin,
  },
  {
    ...{ name: PRIVATE, file: 'private.mjs', folder: 'express' },
    // Each user receives its own id. A message goes to one user, and all users are notified of a new user.
    connections: CONNECTIONS / 4,
    init: [
      ...['--auth', '{"username": "{{ $uuid }}"}'],
      ...['--publish', '["private message", {"content": "$id", "to": "$room"}]'],
    ],
    event: 'private message',
    id: 'content',
    connectUser: async (url) => open(url, { auth: { username: 'ada' } }),
  },
  {
    ...{ name: 'a login by event', file: 'login-event.mjs' },
    init: 'A login by event',
    event: 'monitor',
    id: 'id',
    async connectUser(url) {
      const socket = open(url);
      await socket.emitWithAck('login', USER);
      return socket;
    },
  },
  {
    ...{ name: 'NestJS with a guard', file: 'nest.ts', folder: 'nest' },
    init: 'NestJS',
    event: 'message',
    id: 'id',
    async connectUser(url) {
      const { access_token: token } = await post(`${url}/auth/login`, USER);
      return open(url, { auth: { token } });
    },
  },
  {
    ...{ name: 'Feathers', file: 'feathers.mjs', folder: 'feathers' },
    ...{ init: 'Feathers', event: 'messages created', id: 'ref', env: { LOGIN: '1' } },
    async connectUser(url) {
      const socket = open(url);
      const user = { strategy: 'local', email: USER.username, password: USER.password };
      await new Promise((resolve) => socket.emit('create', 'authentication', user, resolve));
      return socket;
    },
  },
  ...['threading', 'eventlet'].map((mode) => ({
    ...{
      ...CHAT,
      ...python,
      name: `Flask-SocketIO, ${mode}`,
      file: 'chat_flask.py',
      env: { ASYNC_MODE: mode, LOGIN: '1' },
    },
    init: 'Flask-SocketIO',
    connectUser: withFormLogin,
  })),
  {
    ...{ ...CHAT, ...python, name: 'python-socketio, uvicorn with four workers and Redis' },
    ...{ file: 'chat_uvicorn.py', env: { WORKERS: '4', TOKEN }, init: 'python-socketio' },
    connectUser: async (url) => open(url, { auth: { token: TOKEN } }),
  },
];

async function writeScript(directory: string, options: string[]): Promise<string> {
  const out = join(directory, 'capacity.yml');
  await run(process.execPath, [CLI, 'init', '--out', out, ...options], { env: { ...process.env, ...ENV } });
  return readFileSync(out, 'utf8').replace('every: 1, count: 20', `every: ${EVERY}, count: ${BROADCASTS}`);
}

/** These tests are skipped unless requested, because a run takes more than a minute. */
const skip = process.env.CAPACITY_NEIGHBOURS === undefined && 'CAPACITY_NEIGHBOURS is not set';

describe('applications', { concurrency: 1, skip }, () => {
  for (const application of APPLICATIONS) {
    const { name, init, event, id, connectUser, connections: target = CONNECTIONS } = application;
    it(`a scenario written by init measures the application ${name}`, { skip: whyNot(application) }, async (t) => {
      const redis = await startRedis(t);
      const url = await startNeighbour(t, application, { REDIS_URL: redis.url });
      const startedAt = Date.now();
      const own = typeof init === 'string' ? optionsOf(init) : init;
      const options = ['--url', url, '--connections', `${target}`, ...own];
      const script = await writeScript(dirname(tempStateDir(t)), options);

      const listener = await connectUser(url);
      t.after(() => listener.disconnect());
      const beside = new Beside(url);
      t.after(() => beside.close());
      listener.on(event, (message) => beside.onMessage(message[id]));
      const { connections, delivery, memory, cpu } = await goodResult(
        // Sets the passwords, because `init` does not write them to the file.
        startRun(t, { script, env: ENV }),
      );
      const minutes = (Date.now() - startedAt) / 60_000;

      const hasPrivateMessages = name === PRIVATE;
      const copies = hasPrivateMessages ? BROADCASTS : BROADCASTS * target;
      const counted = beside.figures();
      const { workerKept } = memory.perConnectionBytes;
      const truth = workerKept && (await heapTruth(t, application, { REDIS_URL: redis.url }, connectUser, target));
      const bytes = { workerKept, truth, perConnection: memory.perConnection };
      t.diagnostic(`${name} ${JSON.stringify({ minutes, init, counted, bytes, cpu: cpu.worker })}`);
      assert.equal(connections.peak, target);
      assert.deepEqual([delivery?.expected, delivery?.received], [copies, copies]);
      // A private message reaches only its addressee.
      assert.equal(counted.messages, hasPrivateMessages ? 0 : BROADCASTS);
      // The run also has a reference receiver and a publisher.
      assert.equal(counted.connections, target + 2);
      if (workerKept && truth && target >= ENOUGH_FOR_MEMORY) {
        assert.ok(Math.abs(workerKept.slope / truth.inV8.bytes - 1) < 0.1, JSON.stringify(bytes));
        for (const [interval, { low, high }] of [
          [workerKept, truth.inV8],
          [memory.perConnection?.parts[0], truth.withNative],
        ] as const)
          assert.ok((interval?.low95 ?? 0) <= high && low <= (interval?.high95 ?? 0), JSON.stringify(bytes));
      }
    });
  }
});
