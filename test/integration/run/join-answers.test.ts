/** A server's own `join_room` and `broadcast_echo`, which acknowledge what they like: nothing of it ends the run. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Socket } from 'socket.io';
import { type Echo, Probe } from '../../../plugin/run/receivers/probe.ts';
import { Sentinel } from '../../../plugin/run/receivers/sentinel.ts';
import { monotonicUs } from '../../../protocol/clock/clock.ts';
import { EVENTS } from '../../../protocol/events.ts';
import { startChat } from '../../helpers/chat-server.ts';
import { columns } from '../../helpers/columns.ts';
import { connectionTo } from '../../helpers/connection.ts';
import { eventually } from '../../helpers/poll.ts';

const never = new AbortController().signal;

/** A server, and the run's receivers at it. */
async function receivers(t: TestContext, connected: (socket: Socket) => void) {
  const { url } = await startChat(t, (io) => io.on('connection', connected));
  const target = { connection: connectionTo(url) };
  const probe = await Probe.connect(target, never);
  t.after(() => probe.close());
  const sentinel = await Sentinel.start(target, never);
  t.after(() => sentinel.close());
  return { probe, sentinel };
}

test('a join that is acknowledged without the name of a worker leaves it unknown', async (t) => {
  const workers = [5, '', 'x'.repeat(100_000)];
  const answers = [[], [null], [17], ['w0'], [{}], ...workers.map((worker) => [{ worker }])];
  let next = 0;
  const { probe, sentinel } = await receivers(t, (socket) =>
    socket.on(EVENTS.joinRoom, (_asked, ack) => ack(...(answers[next++ % answers.length] as unknown[]))),
  );
  for (const answer of answers) {
    probe.worker = 'of the join before';
    await probe.join('room');
    assert.equal(probe.worker, '', JSON.stringify(answer).slice(0, 80));
  }
  assert.equal((await sentinel.join('room', never)).worker, '');
});

test('a connection that ends before its join is answered is no join that the server refuses', async (t) => {
  const { probe } = await receivers(t, (socket) => socket.on(EVENTS.joinRoom, () => socket.disconnect(true)));
  await assert.rejects(probe.join('room'), { code: 'TARGET_UNREACHABLE' });
});

test('broadcasts and acknowledgements of echoes that are none end nothing', async (t) => {
  const sockets: Socket[] = [];
  const answers = [[], [null], [{}], [{ seq: 9, roundTripUs: '5' }], [{ roundTripUs: 5 }]];
  const { probe, sentinel } = await receivers(t, (socket) => {
    sockets.push(socket);
    socket.on(EVENTS.joinRoom, (_asked, ack) => ack({ worker: 'w0' }));
    socket.on(EVENTS.broadcastEcho, ({ seq }, ack) => ack(...(answers[seq - 1] as unknown[])));
  });
  const seen = await sentinel.join('room', never);
  const echoes: Echo[] = [];
  probe.onRoundTrip = (echo) => void echoes.push(echo);
  for (const socket of sockets) {
    for (const message of [null, undefined, 5, { seq: '1' }]) socket.emit(EVENTS.broadcast, message);
    for (let seq = 1; seq <= answers.length; seq++) {
      socket.emit(EVENTS.broadcast, { seq, sentAtUs: monotonicUs(), worker: 'w0', data: '' });
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
