/** The run's own clients at servers that let in nobody but users: they come by the scenario's flow. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Server, type Socket } from 'socket.io';
import { examineTarget } from '../../../plugin/doctor/target/examine.ts';
import { tryDelivery } from '../../../plugin/run/own-event/trial.ts';
import { come } from '../../../plugin/run/receivers/come.ts';
import { Refused } from '../../../plugin/run/receivers/official-client.ts';
import { OwnClients } from '../../../plugin/run/receivers/own-clients.ts';
import { Probe } from '../../../plugin/run/receivers/probe.ts';
import { Publishers } from '../../../plugin/run/receivers/publishers.ts';
import { Sentinel } from '../../../plugin/run/receivers/sentinel.ts';
import { openTarget } from '../../../plugin/run/target/target.ts';
import { ENGINE, type Scenario, type Script } from '../../../plugin/script/script.ts';
import { readSettings, type Settings } from '../../../plugin/script/settings.ts';
import { STEPS } from '../../../plugin/virtual-user/steps/index.ts';
import { listen } from '../../helpers/listen.ts';
import { eventually } from '../../helpers/poll.ts';

type Answer = (value: unknown) => void;

const { signal } = new AbortController();
const JOIN = { emit: ['join_room', { clientKey: 'capacity' }] };
const HOLD = { hold: true };
const PROCESSOR = `
let issued = 0;
exports.login = (context, events, next) => {
  context.vars.token = 'token-' + ++issued;
  next();
};
exports.headers = async (context) => {
  context.extraHeaders = { authorization: 'Bearer token-' + ++issued };
};
`;

/** @param set up its handlers; what it throws fails the test */
async function serve(t: TestContext, setUp: (io: Server) => void, onRequest?: Parameters<typeof listen>[0]) {
  const { http, url } = await listen(onRequest ?? ((_request, response) => response.writeHead(404).end()));
  const io = new Server(http, { serveClient: false });
  setUp(io);
  t.after(() => io.close());
  return { io, url };
}

function scenarioOf(t: TestContext, url: string, scenarios: Scenario | Scenario[], config: object = {}, options = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'own-clients-'));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'tokens.csv'), 'alice,token-1\nbob,token-2\ncarol,token-3\n');
  writeFileSync(join(folder, 'processor.cjs'), PROCESSOR);
  const plugins = { [ENGINE]: options };
  const script: Script = {
    config: { target: url, phases: [{ duration: 1, arrivalRate: 1 }], plugins, ...config },
    scenarios: [scenarios].flat().map((one) => ({ engine: ENGINE, ...one })),
    _scriptPath: join(folder, 'scenario.yml'),
  };
  return { script, settings: readSettings(script, STEPS, {}) };
}

async function clientsOf(...given: Parameters<typeof scenarioOf>) {
  const { script, settings } = scenarioOf(...given);
  return { script, settings, clients: await OwnClients.open(settings, script) };
}

const CSV = { payload: [{ path: 'tokens.csv', fields: ['user', 'token'] }] };
const CODE = { processor: 'processor.cjs' };
const BEARER = { socketio: { extraHeaders: { authorization: 'Bearer {{ token }}' } } };

/** As a middleware of a JWT library: the request ends before Socket.IO sees it. */
function asksForBearer(io: Server) {
  io.engine.use((request: never, response: never, next: () => void) => {
    const { headers } = request as { headers: Record<string, string> };
    const answer = response as { writeHead(status: number): void; end(text: string): void };
    if (/^Bearer token-\d+$/.test(headers.authorization ?? '')) return next();
    answer.writeHead(401);
    answer.end('who are you?');
  });
  welcome(io);
}

/** As `allowRequest` of a server that hangs up. */
function hangsUpOnStrangers(io: Server) {
  io.engine.use((request: never, _response: never, next: () => void) => {
    const { headers, socket } = request as { headers: Record<string, string>; socket: { destroy(): void } };
    if (/^Bearer token-\d+$/.test(headers.authorization ?? '')) next();
    else socket.destroy();
  });
  welcome(io);
}

function welcome(io: Server) {
  io.on('connection', (socket) => socket.on('join_room', (_asked, answer: Answer) => answer({ worker: 'w1' })));
}

for (const [name, setUp] of Object.entries({ asksForBearer, hangsUpOnStrangers })) {
  test(`a token of the payload in the handshake: ${name}`, async (t) => {
    const { url, io } = await serve(t, setUp);
    const { clients, settings, script } = await clientsOf(t, url, { ...BEARER, flow: [JOIN, HOLD] }, CSV);
    assert.equal((await openTarget(settings, 1, () => {}, signal)).profile, 'remote', 'no other program on the port');
    const probe = await Probe.connect(clients.next(), signal);
    t.after(() => probe.close());
    await probe.join('capacity');
    assert.equal(probe.worker, 'w1');
    const sentinel = await Sentinel.start(clients.next(), signal);
    t.after(() => sentinel.close());
    assert.equal((await sentinel.join('capacity', signal)).worker, 'w1');
    const tokens = [...io.sockets.sockets.values()].map(({ handshake }) => handshake.headers.authorization);
    assert.deepEqual(tokens.toSorted(), ['Bearer token-2', 'Bearer token-3'], 'rows from the end, one for each');
    assert.equal(clients.areUsers, true, 'so they warm up, and not the fleet');
    const { socket } = await come(clients.nextPassing(), signal);
    socket.disconnect();
    const stop = new AbortController();
    const watching = { onCheck: () => {}, onHold: () => stop.abort() };
    const checks = await examineTarget(settings, script, watching, stop.signal);
    const found = checks.filter(({ name }) => ['websocket', 'connect', 'idle'].includes(name));
    assert.deepEqual(
      found.map(({ name, status }) => [name, status]),
      ['websocket', 'connect', 'idle'].map((name) => [name, 'ok']),
    );
  });
}

test('a token from a processor function', async (t) => {
  const { url } = await serve(t, asksForBearer);
  for (const scenario of [
    { beforeScenario: 'headers', flow: [JOIN, HOLD] },
    { flow: [{ function: 'login' }, { connect: { headers: { authorization: 'Bearer {{ token }}' } } }, JOIN, HOLD] },
  ]) {
    const { clients } = await clientsOf(t, url, scenario, CODE);
    const { socket } = await come(clients.next(), signal);
    assert.equal(socket.connected, true);
    socket.disconnect();
  }
});

test('a session cookie of an HTTP login', async (t) => {
  const { url, io } = await serve(
    t,
    (server) => {
      server.use((socket, next) =>
        next(/sid=carol/.test(String(socket.handshake.headers.cookie)) ? undefined : new Error('log in')),
      );
      welcome(server);
    },
    (request, response) => {
      let body = '';
      request.on('data', (data) => (body += data));
      request.on('end', () => {
        if (request.url === '/login') response.setHeader('set-cookie', `sid=${JSON.parse(body).user}; Path=/`);
        response.end('{}');
      });
    },
  );
  const flow = [{ post: { url: '/login', json: { user: '{{ user }}' } } }, JOIN, HOLD];
  const { clients } = await clientsOf(t, url, { flow }, CSV);
  const probe = await Probe.connect(clients.next(), signal);
  t.after(() => probe.close());
  await probe.join('capacity');
  assert.equal(io.sockets.sockets.size, 1);
});

test('a login by an event, with its acknowledgement', async (t) => {
  const users: unknown[] = [];
  const { url } = await serve(t, (io) => {
    io.on('connection', (socket) => {
      socket.on('login', ({ user }, answer: Answer) => {
        users.push(user);
        answer({ ok: true, room: `of ${user}` });
      });
      socket.on('join_room', (_asked, answer: Answer) => answer(users.length > 0 ? { worker: 'w1' } : {}));
    });
  });
  const login = {
    emit: ['login', { user: '{{ user }}' }],
    acknowledge: { match: { json: '$.0.ok', value: true } },
  };
  const { clients } = await clientsOf(t, url, { flow: [login, JOIN, HOLD] }, CSV);
  const probe = await Probe.connect(clients.next(), signal);
  t.after(() => probe.close());
  await probe.join('capacity');
  assert.deepEqual([users, probe.worker], [['carol'], 'w1']);
});

test('a server that lets nobody in is quoted, and the fix is about that', async (t) => {
  const { url } = await serve(t, (io) => io.use((_socket, next) => next(new Error('invalid username'))));
  const { clients } = await clientsOf(t, url, { flow: [{ connect: { auth: { user: '{{ user }}' } } }, HOLD] }, CSV);
  await assert.rejects(come(clients.next(), signal), (error) => {
    assert.ok(error instanceof Refused);
    assert.equal(error.said, 'invalid username');
    assert.match(error.fix, /last rows of the payload.*`clients`/);
    assert.doesNotMatch(error.fix, /Socket\.IO 4 server/);
    return true;
  });
});

test('a login that fails by an event is a refusal, too', async (t) => {
  const { url, io } = await serve(t, (server) =>
    server.on('connection', (socket) => socket.on('login', (_user, answer: Answer) => answer({ ok: false }))),
  );
  const login = { emit: ['login', {}], acknowledge: { match: { json: '$.0.ok', value: true } } };
  const { clients } = await clientsOf(t, url, { flow: [login, JOIN, HOLD] });
  await assert.rejects(come(clients.next(), signal), Refused);
  await eventually('nothing stays open', () => io.engine.clientsCount === 0);
});

test('a login by HTTP that is refused is named, whether or not a step notices', async (t) => {
  const { url } = await serve(
    t,
    (io) => io.use((_socket, next) => next(new Error('unauthorized'))),
    (_request, response) => response.writeHead(401).end('{}'),
  );
  const post = { url: '/login?key=secret', json: {} };
  const noticed = { post: { ...post, capture: { json: '$.token', as: 'token' } } };
  for (const [step, said] of [
    [{ post }, 'POST /login answered 401; then unauthorized'],
    [noticed, 'failed_request: POST /login answered 401: Failed capture or match'],
  ]) {
    const { clients } = await clientsOf(t, url, { flow: [step, { connect: true }, HOLD] });
    await assert.rejects(come(clients.next(), signal), { said });
  }
});

test('another scenario for them, of which the load has nothing', async (t) => {
  const { url, io } = await serve(t, (server) => {
    server.use((socket, next) => next(socket.handshake.auth.role === 'moderator' ? undefined : new Error('no')));
  });
  const scenarios = [
    { name: 'guest', flow: [{ connect: { auth: { role: 'guest' } } }, HOLD] },
    { name: 'moderator', weight: 0, flow: [{ connect: { auth: { role: 'moderator' } } }, { think: 3600 }] },
  ];
  const options = { clients: 'moderator' };
  const { clients, settings } = await clientsOf(t, url, scenarios, {}, options);
  assert.equal(settings.load.stays, true);
  const { socket } = await come(clients.next(), signal);
  assert.equal(io.sockets.sockets.size, 1);
  socket.disconnect();
  assert.throws(() => scenarioOf(t, url, scenarios, {}, { clients: 'admin' }), /no scenario has the name admin/);
});

const DELIVERY = { event: 'said', id: '$.0.id', publish: { emit: ['say', { id: '$id' }], every: 0.05, count: 2 } };

test('publishers and the listener of the trial log in, join and use the namespace of the flow', async (t) => {
  const elsewhere: string[] = [];
  const said: unknown[] = [];
  const { url } = await serve(t, (io) => {
    io.on('connection', (socket) => socket.onAny((event) => elsewhere.push(event)));
    const chat = io.of('/chat');
    chat.use((socket, next) => next(/^token-/.test(socket.handshake.auth.token) ? undefined : new Error('bad token')));
    chat.on('connection', (socket: Socket) => {
      socket.on('enter', (room, answer: Answer) => {
        void socket.join(room);
        answer('welcome');
      });
      socket.on('say', (message, answer: Answer) => {
        said.push(message);
        chat.to('lobby').emit('said', message);
        answer({ ok: true });
      });
    });
  });
  const flow = [
    { connect: { namespace: '/chat', auth: { token: '{{ token }}' } } },
    { emit: ['enter', 'lobby'], namespace: '/chat', acknowledge: true },
    HOLD,
  ];
  const { clients, settings } = await clientsOf(t, url, { flow }, CSV, { delivery: { ...DELIVERY, join: 'enter' } });
  const delivery = settings.delivery as NonNullable<Settings['delivery']>;
  const publishers = await Publishers.connect(clients, delivery.publish as never, 'run', signal);
  t.after(() => publishers.close());
  assert.equal(await tryDelivery(clients.nextReceiver(), delivery, publishers, signal), undefined);
  const failed: string[] = [];
  await publishers.publish(
    () => {},
    (_seq, { message }) => failed.push(message),
    signal,
  );
  assert.deepEqual([failed, elsewhere], [[], []]);
  assert.ok(said.length >= 2);
});

test('an acknowledgement is asked for where the flow does, or does not know the event', async (t) => {
  const emits = [
    { emit: ['say', 'x'], acknowledge: true },
    { loop: [{ emit: ['wave', 'x'] }], count: 2 },
  ];
  const { clients } = await clientsOf(t, 'http://127.0.0.1:1', { flow: [{ connect: {} }, ...emits, HOLD] });
  assert.deepEqual(
    ['say', 'wave', 'other'].map((event) => clients.asksFor(event)),
    [true, false, true],
  );
});

test('a bare flow needs no user: neither Artillery nor a login', async (t) => {
  for (const flow of [
    [JOIN, HOLD],
    [{ connect: {} }, HOLD],
    [{ think: 60 }, JOIN, HOLD],
  ]) {
    const { clients } = await clientsOf(t, 'http://127.0.0.1:1', { flow });
    assert.deepEqual([clients.areUsers, clients.next().user], [false, undefined], JSON.stringify(flow));
  }
});

test('a refusal in the handshake is quoted, also where a WebSocket is only hung up on', async (t) => {
  const { url } = await serve(t, asksForBearer);
  for (const transports of [['websocket'], ['polling']]) {
    const { clients } = await clientsOf(t, url, { socketio: { transports }, flow: [JOIN, HOLD] });
    await assert.rejects(come(clients.next(), signal), { name: 'CapacityError', said: '401 who are you?' });
  }
});
