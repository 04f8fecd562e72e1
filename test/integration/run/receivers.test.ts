/** Tests the probe, the reference receiver, and servers with invalid acknowledgements. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import type { Socket } from 'socket.io';
import { ReferenceReceiver, wasReferenceMember } from '../../../plugin/run/receivers/reference-receiver.ts';
import { type ProbeEcho, RoundTripProbe } from '../../../plugin/run/receivers/round-trip-probe.ts';
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { CONTRACT_EVENTS } from '../../../protocol/wire/events.ts';
import { startChat } from '../../helpers/chat-server.ts';
import { columns } from '../../helpers/columns.ts';
import { connectionTo } from '../../helpers/connection.ts';
import { eventually } from '../../helpers/poll.ts';

const NEVER = new AbortController().signal;

/** Starts a server that acknowledges joins and collects its sockets. */
async function startServer(t: TestContext, answers = true) {
  const sockets: Socket[] = [];
  const server = await startChat(t, (io) =>
    io.on('connection', (socket) => {
      sockets.push(socket);
      if (answers) socket.on(CONTRACT_EVENTS.joinRoom, (_asked, ack) => ack({ worker: 'w7' }));
    }),
  );
  return { ...server, sockets };
}

async function start(t: TestContext, target: string): Promise<ReferenceReceiver> {
  const sentinel = await ReferenceReceiver.start({ connection: connectionTo(target) }, NEVER);
  t.after(() => sentinel.close());
  return sentinel;
}

test('the reference receiver records when each broadcast first arrives, and learns its worker’s name', async (t) => {
  const { url, sockets } = await startServer(t);
  const sentinel = await start(t, url);
  const seen = await sentinel.join('room', NEVER);
  assert.equal(seen.worker, 'w7');
  const beforeUs = monotonicUs();
  assert.ok(seen.joinedAtUs <= beforeUs);
  for (const seq of [1, 2, 1])
    sockets[0]?.emit(CONTRACT_EVENTS.broadcast, { seq, sentAtUs: beforeUs, worker: 'w7', data: 'x' });
  await eventually('both broadcasts', () => seen.receivedAtUs.size === 2);
  const first = seen.receivedAtUs.get(1) as number;
  assert.ok(first >= beforeUs && first <= (seen.receivedAtUs.get(2) as number), 'the second copy of 1 changes nothing');
  assert.equal(wasReferenceMember(seen, monotonicUs()), true);
  assert.equal(wasReferenceMember(seen, seen.joinedAtUs - 1), false);
});

test('a disconnected reference receiver no longer counts as a member of its room', async (t) => {
  const { url, sockets } = await startServer(t);
  const seen = await (await start(t, url)).join('room', NEVER);
  sockets[0]?.disconnect(true);
  await eventually('the end', () => seen.leftAtUs !== undefined);
  const leftAtUs = seen.leftAtUs as number;
  assert.deepEqual([wasReferenceMember(seen, leftAtUs), wasReferenceMember(seen, leftAtUs + 1)], [true, false]);
});

test('closing the reference receiver is not reported as a disconnect', async (t) => {
  const { url, sockets } = await startServer(t);
  const sentinel = await start(t, url);
  const seen = await sentinel.join('room', NEVER);
  const disconnected = once(sockets[0] as Socket, 'disconnect');
  await Promise.all([sentinel.close(), sentinel.close()]);
  await disconnected;
  assert.equal(seen.leftAtUs, undefined);
});

test('the reference receiver reports a refused connection with the same error as the probe', async (t) => {
  await assert.rejects(start(t, 'http://127.0.0.1:1'), { code: 'TARGET_UNREACHABLE', message: /ECONNREFUSED/ });
});

test('quotes the message with which the server refuses the reference receiver', async (t) => {
  const { url, io } = await startServer(t);
  io.use((_socket, next) => next(Object.assign(new Error('bad token\x07'), { data: { hint: 'ask Ali' } })));
  const message = /the server refused it: bad token\\u\{7\} \{"hint":"ask Ali"\}/;
  await assert.rejects(start(t, url), { code: 'TARGET_UNREACHABLE', message });
});

test('a stopped run does not wait until its receivers have joined their room', async (t) => {
  const { url } = await startServer(t, false);
  const sentinel = await start(t, url);
  const stop = new AbortController();
  const joining = sentinel.join('room', stop.signal);
  stop.abort(new Error('stopped'));
  await assert.rejects(joining, /stopped/);
});

async function receivers(t: TestContext, connected: (socket: Socket) => void) {
  const { url } = await startChat(t, (io) => io.on('connection', connected));
  const target = { connection: connectionTo(url) };
  const probe = await RoundTripProbe.connect(target, NEVER);
  t.after(() => probe.close());
  const sentinel = await ReferenceReceiver.start(target, NEVER);
  t.after(() => sentinel.close());
  return { probe, sentinel };
}

test('a join acknowledged without a worker’s name leaves the worker unknown', async (t) => {
  const workers = [5, '', 'x'.repeat(100_000)];
  const answers = [[], [null], [17], ['w0'], [{}], ...workers.map((worker) => [{ worker }])];
  let answerIndex = 0;
  const { probe, sentinel } = await receivers(t, (socket) =>
    socket.on(CONTRACT_EVENTS.joinRoom, (_asked, ack) =>
      ack(...(answers[answerIndex++ % answers.length] as unknown[])),
    ),
  );
  for (const answer of answers) {
    probe.worker = 'of the join before';
    await probe.join('room');
    assert.equal(probe.worker, '', JSON.stringify(answer).slice(0, 80));
  }
  assert.equal((await sentinel.join('room', NEVER)).worker, '');
});

test('a receiver that is disconnected before its join is acknowledged does not count as a refused join', async (t) => {
  const { probe } = await receivers(t, (socket) => socket.on(CONTRACT_EVENTS.joinRoom, () => socket.disconnect(true)));
  await assert.rejects(probe.join('room'), { code: 'TARGET_UNREACHABLE' });
});

test('invalid broadcasts and acknowledgements of echoes close no connection of a receiver', async (t) => {
  const sockets: Socket[] = [];
  const answers = [[], [null], [{}], [{ seq: 9, roundTripUs: '5' }], [{ roundTripUs: 5 }]];
  const { probe, sentinel } = await receivers(t, (socket) => {
    sockets.push(socket);
    socket.on(CONTRACT_EVENTS.joinRoom, (_asked, ack) => ack({ worker: 'w0' }));
    socket.on(CONTRACT_EVENTS.broadcastEcho, ({ seq }, ack) => ack(...(answers[seq - 1] as unknown[])));
  });
  const seen = await sentinel.join('room', NEVER);
  const echoes: ProbeEcho[] = [];
  probe.onRoundTrip = (echo) => void echoes.push(echo);
  for (const socket of sockets) {
    for (const message of [null, undefined, 5, { seq: '1' }]) socket.emit(CONTRACT_EVENTS.broadcast, message);
    for (let seq = 1; seq <= answers.length; seq++) {
      socket.emit(CONTRACT_EVENTS.broadcast, { seq, sentAtUs: monotonicUs(), worker: 'w0', data: '' });
    }
  }
  await eventually('all echoes', () => echoes.length === answers.length && seen.receivedAtUs.size === answers.length);
  assert.deepEqual(columns(echoes, 'seq', 'roundTripUs'), {
    seq: [1, 2, 3, 4, 5],
    roundTripUs: [Number.NaN, Number.NaN, Number.NaN, Number.NaN, 5],
  });
  for (const { sentAtUs, receivedAtUs, acknowledgedAtUs } of echoes) {
    assert.ok(sentAtUs <= receivedAtUs && receivedAtUs <= acknowledgedAtUs);
  }
});
