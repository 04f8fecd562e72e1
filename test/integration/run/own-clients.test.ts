/**
 * Tests the run's own clients with servers that accept only authenticated users. The clients follow the flow of the
 * scenario.
 */
import assert from 'node:assert/strict';
import { json } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import type { Socket } from 'socket.io';
import { examineTarget } from '../../../plugin/doctor/target/examine.ts';
import { tryDelivery } from '../../../plugin/run/broadcasts/trial.ts';
import { connectClient } from '../../../plugin/run/receivers/connect-client.ts';
import { Publishers } from '../../../plugin/run/receivers/publishers.ts';
import { ReferenceReceiver } from '../../../plugin/run/receivers/reference-receiver.ts';
import { RoundTripProbe } from '../../../plugin/run/receivers/round-trip-probe.ts';
import type { RunClients } from '../../../plugin/run/receivers/run-clients.ts';
import { openRunTarget } from '../../../plugin/run/target/target.ts';
import type { Settings } from '../../../plugin/script/settings.ts';
import { startChat } from '../../helpers/chat-server.ts';
import { assertEach, column } from '../../helpers/columns.ts';
import {
  type Answer,
  BEARER,
  CODE,
  CSV,
  clientsOf,
  HOLD,
  JOIN,
  SERVERS,
  scenarioOf,
  welcome,
} from '../../helpers/own-clients.ts';
import { eventually } from '../../helpers/poll.ts';

const { signal } = new AbortController();

/** Connects a probe with the flow of the scenario, and joins it to the room. */
async function joinProbe(t: TestContext, clients: RunClients): Promise<RoundTripProbe> {
  const probe = await RoundTripProbe.connect(clients.next(), signal);
  t.after(() => probe.close());
  await probe.join('capacity');
  return probe;
}

for (const [name, setUp] of Object.entries(SERVERS)) {
  test(`the run’s own clients use a token of the payload in the handshake, ${name}`, async (t) => {
    const { url, io } = await startChat(t, setUp);
    const { clients, settings, script } = await clientsOf(t, url, { ...BEARER, flow: [JOIN, HOLD] }, CSV);
    assert.equal(
      (await openRunTarget(settings, 1, () => {}, signal)).profile,
      'remote',
      'no other program on the port',
    );
    const probe = await joinProbe(t, clients);
    assert.equal(probe.worker, 'w1');
    const sentinel = await ReferenceReceiver.start(clients.next(), signal);
    t.after(() => sentinel.close());
    assert.equal((await sentinel.join('capacity', signal)).worker, 'w1');
    const tokens = [...io.sockets.sockets.values()].map(({ handshake }) => handshake.headers.authorization);
    assert.deepEqual(tokens.toSorted(), ['Bearer token-2', 'Bearer token-3'], 'rows from the end, one per client');
    assert.equal(clients.areUsers, true, 'own clients warm up instead of the fleet');
    const { socket } = await connectClient(clients.nextTemporary(), signal);
    socket.disconnect();
    const stop = new AbortController();
    const watching = { onCheck: () => {}, onHold: () => stop.abort() };
    const checks = await examineTarget(settings, script, watching, stop.signal);
    const found = checks.filter(({ name }) => ['websocket', 'connect', 'idle'].includes(name));
    assert.deepEqual(
      column(found, 'status'),
      ['ok', 'ok', 'skipped'],
      'the silent connection was open until it was stopped',
    );
  });
}

test('the run’s own clients use a token from a processor function', async (t) => {
  const { url } = await startChat(t, SERVERS.answers);
  for (const scenario of [
    { beforeScenario: 'headers', flow: [JOIN, HOLD] },
    { flow: [{ function: 'login' }, { connect: { headers: { authorization: 'Bearer {{ token }}' } } }, JOIN, HOLD] },
  ]) {
    const { clients } = await clientsOf(t, url, scenario, CODE);
    const { socket } = await connectClient(clients.next(), signal);
    assert.equal(socket.connected, true);
    socket.disconnect();
  }
});

test('the run’s own clients use the session cookie of an HTTP login', async (t) => {
  const { url, io } = await startChat(
    t,
    (server) => {
      server.use((socket, next) =>
        next(/sid=carol/.test(String(socket.handshake.headers.cookie)) ? undefined : new Error('log in')),
      );
      welcome(server);
    },
    {
      onRequest: async (request, response) => {
        const { user } = (await json(request)) as { user: string };
        response.setHeader('set-cookie', `sid=${user}; Path=/`).end('{}');
      },
    },
  );
  const flow = [{ post: { url: '/login', json: { user: '{{ user }}' } } }, JOIN, HOLD];
  const { clients } = await clientsOf(t, url, { flow }, CSV);
  await joinProbe(t, clients);
  assert.equal(io.sockets.sockets.size, 1);
});

test('the run’s own clients log in by an event, and wait for its acknowledgement', async (t) => {
  const users: unknown[] = [];
  const { url } = await startChat(t, (io) => {
    io.on('connection', (socket) => {
      socket.on('login', ({ user }, answer: Answer) => {
        users.push(user);
        answer({ ok: true, room: `of ${user}` });
      });
      socket.on('join_room', (_asked, answer: Answer) => answer(users.length > 0 ? { worker: 'w1' } : {}));
    });
  });
  const login = { emit: ['login', { user: '{{ user }}' }], acknowledge: { match: { json: '$.0.ok', value: true } } };
  const { clients } = await clientsOf(t, url, { flow: [login, JOIN, HOLD] }, CSV);
  const probe = await joinProbe(t, clients);
  assert.deepEqual([users, probe.worker], [['carol'], 'w1']);
});

test('the run’s own clients can follow another scenario than the load', async (t) => {
  const { url, io } = await startChat(t, (server) => {
    server.use((socket, next) => next(socket.handshake.auth.role === 'moderator' ? undefined : new Error('no')));
  });
  const scenarios = [
    { name: 'guest', flow: [{ connect: { auth: { role: 'guest' } } }, HOLD] },
    { name: 'moderator', weight: 0, flow: [{ connect: { auth: { role: 'moderator' } } }, { think: 3600 }] },
  ];
  const options = { clients: 'moderator' };
  const { clients, settings } = await clientsOf(t, url, scenarios, {}, options);
  assert.equal(settings.load.stays, true);
  const { socket } = await connectClient(clients.next(), signal);
  assert.equal(io.sockets.sockets.size, 1);
  socket.disconnect();
  assert.throws(() => scenarioOf(t, url, scenarios, {}, { clients: 'admin' }), /no scenario has the name admin/);
});

const DELIVERY = { event: 'said', id: '$.0.id', publish: { emit: ['say', { id: '$id' }], every: 0.05, count: 2 } };

test('before the load, publishers and the listener log in, join and use the namespace of the flow', async (t) => {
  const strayEvents: string[] = [];
  const sentMessages: unknown[] = [];
  const { url } = await startChat(t, (io) => {
    io.on('connection', (socket) => socket.onAny((event) => strayEvents.push(event)));
    const chat = io.of('/chat');
    chat.use((socket, next) => next(/^token-/.test(socket.handshake.auth.token) ? undefined : new Error('bad token')));
    chat.on('connection', (socket: Socket) => {
      socket.on('enter', (room, answer: Answer) => {
        void socket.join(room);
        answer('welcome');
        socket.emit('ready');
      });
      socket.on('say', (message, answer: Answer) => {
        sentMessages.push(message);
        chat.to('lobby').emit('said', message);
        answer({ ok: true });
      });
    });
  });
  const flow = [
    { connect: { namespace: '/chat', auth: { token: '{{ token }}' } } },
    { emit: ['enter', 'lobby'], namespace: '/chat', acknowledge: true },
    { waitFor: { event: 'ready', namespace: '/chat' } },
    HOLD,
  ];
  for (const join of [{ join: 'enter' }, {}]) {
    const { clients, settings } = await clientsOf(t, url, { flow }, CSV, { delivery: { ...DELIVERY, ...join } });
    const delivery = settings.delivery as NonNullable<Settings['delivery']>;
    const publishers = await Publishers.connect(clients, delivery.publish as never, signal);
    t.after(() => publishers.close());
    assert.equal(await tryDelivery(clients.nextReceiver(), delivery, publishers, signal), undefined);
    const onFailed = () => assert.fail('a publisher ended');
    await publishers.publish(() => {}, onFailed, signal);
    assert.deepEqual(strayEvents, []);
    assert.ok(sentMessages.splice(0).length >= 2);
  }
});

test('a publisher requests an acknowledgement if the option or the flow says so, and by default', async (t) => {
  const counts: number[] = [];
  const { url } = await startChat(t, (io) => {
    io.on('connection', (socket) =>
      socket.on('say', (...args) => {
        counts.push(args.length);
        io.emit('said', args[0]);
      }),
    );
  });
  const ask = { emit: ['say', 'x'], acknowledge: true };
  for (const [acknowledge, flow, argumentCount] of [
    [undefined, [{ connect: true }, HOLD], 2],
    [undefined, [{ connect: true }, HOLD, { emit: ['say', 'x'] }], 1],
    [false, [{ connect: true }, HOLD, ask], 1],
    [true, [{ connect: true }, HOLD, { emit: ['say', 'x'] }], 2],
  ] as const) {
    const option = { ...DELIVERY, publish: { ...DELIVERY.publish, ...(acknowledge !== undefined && { acknowledge }) } };
    const { clients, settings } = await clientsOf(t, url, { flow: [...flow] }, CSV, { delivery: option });
    const delivery = settings.delivery as NonNullable<Settings['delivery']>;
    const publishers = await Publishers.connect(clients, delivery.publish as never, signal);
    await tryDelivery(clients.nextReceiver(), delivery, publishers, signal);
    publishers.close();
    assert.deepEqual([...new Set(counts.splice(0))], [argumentCount], JSON.stringify([acknowledge, flow]));
  }
});

test('the trial before the load uses a publisher that the flow puts into the listener’s room', async (t) => {
  const sentMessages: unknown[] = [];
  const { url } = await startChat(t, (io) => {
    io.of(/./).on('connection', (socket) => {
      socket.on('enter', async (room, answer: Answer) => {
        await socket.join(room);
        answer('welcome');
      });
      socket.on('say', (message) => {
        sentMessages.push(socket.nsp.name);
        const to = [...socket.rooms].filter((room) => room !== socket.id);
        socket.nsp.to(to).emit('said', { ...message, to: to[0] });
      });
    });
  });
  const audience = { event: '$.0.to', client: '$.0' };
  const inRooms = { ...DELIVERY, join: 'enter', audience };
  const enter = { emit: ['enter', '{{ user }}'], acknowledge: true };
  const tries: [flow: object[], delivery: object][] = [
    [[{ connect: { namespace: '/{{ user }}' } }, HOLD], DELIVERY],
    [[{ connect: { namespace: '/all' } }, { ...enter, namespace: '/all' }, HOLD], inRooms],
  ];
  for (const [flow, option] of tries) {
    const { clients, settings } = await clientsOf(t, url, { flow }, CSV, { delivery: option });
    const delivery = settings.delivery as NonNullable<Settings['delivery']>;
    const publish = { ...delivery.publish, hasRooms: option === inRooms };
    const separatePublishers = await Publishers.connect(clients, publish as never, signal);
    assert.equal(await tryDelivery(clients.nextReceiver(), delivery, separatePublishers, signal), undefined);
    assert.deepEqual(sentMessages, [], 'carol’s publisher does not reach bob’s room');
    separatePublishers.close();
    const all = await Publishers.connect(clients, { ...publish, users: 3 } as never, signal);
    assert.equal(await tryDelivery(clients.nextReceiver(), delivery, all, signal), undefined);
    assert.ok(sentMessages.splice(0).length > 0);
    all.close();
  }
});

test('each client has its own row of the payload, and temporary clients use rows that the load does not need', async (t) => {
  const data = Array.from({ length: 12 }, (_, row) => [`user-${row}`]);
  const config = {
    payload: [{ path: 'users.csv', fields: ['user'], data }],
    phases: [{ duration: 1, arrivalRate: 4 }],
  };
  const flow = [{ connect: { auth: { user: '{{ user }}' } } }, HOLD];
  const { clients } = await clientsOf(t, 'http://127.0.0.1:1', { flow }, config);
  const own = [clients.next(), clients.next(), clients.nextReceiver()];
  const temporary = Array.from({ length: 10 }, () => clients.nextTemporary());
  const [rows, temporaryRows] = [own, temporary].map((clients) => clients.map(({ user }) => user?.vars.user));
  assert.deepEqual(rows, ['user-11', 'user-10', 'user-9']);
  assert.deepEqual(new Set(temporaryRows), new Set(['user-8', 'user-7', 'user-6', 'user-5', 'user-4']));
});

test('the run’s receivers repeat the events of the flow, because a server may disconnect silent clients', async (t) => {
  let beats = 0;
  const { url, io } = await startChat(t, (server) => {
    server.on('connection', (socket) => {
      const timeout = setTimeout(() => socket.disconnect(), 300);
      socket.on('alive', (_x, answer: Answer) => {
        beats++;
        timeout.refresh();
        answer('ok');
      });
    });
  });
  const flow = [{ connect: {} }, { every: { emit: ['alive', 1], seconds: 0.02, acknowledge: true } }, HOLD];
  const { clients } = await clientsOf(t, url, { flow });
  const { socket } = await connectClient(clients.nextReceiver(), signal);
  await eventually('it outlives a silent client', () => beats >= 30);
  assert.equal(socket.connected, true);
  socket.disconnect();
  await eventually('it has disconnected', () => io.engine.clientsCount === 0);
});

test('the flow decides whether an event requests an acknowledgement, if it sends the event', async (t) => {
  const emits = [
    { emit: ['say', 'x'], acknowledge: true },
    { loop: [{ emit: ['wave', 'x'] }], count: 2 },
  ];
  const { clients } = await clientsOf(t, 'http://127.0.0.1:1', { flow: [{ connect: {} }, ...emits, HOLD] });
  assertEach(['say', 'wave', 'other'], (event) => clients.asksFor(event), [true, false, undefined]);
});

test('a flow with only a connect step needs neither Artillery nor a login', async (t) => {
  for (const first of [[JOIN], [{ connect: {} }], [{ think: 60 }, JOIN]]) {
    const flow = [...first, HOLD];
    const { clients } = await clientsOf(t, 'http://127.0.0.1:1', { flow });
    assert.deepEqual([clients.areUsers, clients.next().user], [false, undefined], JSON.stringify(flow));
  }
});
