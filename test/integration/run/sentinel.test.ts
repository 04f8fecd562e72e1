/** The sentinel's process: what it sees, when it counts as a member, and that it never outlives its owner. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import type { Socket } from 'socket.io';
import { isMember, Sentinel } from '../../../plugin/run/receivers/sentinel.ts';
import { monotonicUs } from '../../../protocol/clock/clock.ts';
import { EVENTS } from '../../../protocol/events.ts';
import { startChat } from '../../helpers/chat-server.ts';
import { connectionTo } from '../../helpers/connection.ts';
import { eventually } from '../../helpers/poll.ts';

const never = new AbortController().signal;

/** Answers joins, and keeps its sockets at hand. */
async function startServer(t: TestContext, answers = true) {
  const sockets: Socket[] = [];
  const server = await startChat(t, (io) =>
    io.on('connection', (socket) => {
      sockets.push(socket);
      if (answers) socket.on(EVENTS.joinRoom, (_asked, ack) => ack({ worker: 'w7' }));
    }),
  );
  return { ...server, sockets };
}

async function start(t: TestContext, target: string): Promise<Sentinel> {
  const sentinel = await Sentinel.start({ connection: connectionTo(target) }, never);
  t.after(() => sentinel.close());
  return sentinel;
}

test('stamps the first copy of each broadcast, and knows its worker', async (t) => {
  const { url, sockets } = await startServer(t);
  const sentinel = await start(t, url);
  const seen = await sentinel.join('room', never);
  assert.equal(seen.worker, 'w7');
  const beforeUs = monotonicUs();
  assert.ok(seen.joinedAtUs <= beforeUs);
  for (const seq of [1, 2, 1]) sockets[0]?.emit(EVENTS.broadcast, { seq, sentAtUs: beforeUs, worker: 'w7', data: 'x' });
  await eventually('both broadcasts', () => seen.receivedAtUs.size === 2);
  const first = seen.receivedAtUs.get(1) as number;
  assert.ok(first >= beforeUs && first <= (seen.receivedAtUs.get(2) as number), 'the second copy of 1 changes nothing');
  assert.equal(isMember(seen, monotonicUs()), true);
  assert.equal(isMember(seen, seen.joinedAtUs - 1), false);
});

test('a sentinel that the server drops is no member from then on', async (t) => {
  const { url, sockets } = await startServer(t);
  const seen = await (await start(t, url)).join('room', never);
  sockets[0]?.disconnect(true);
  await eventually('the end', () => seen.leftAtUs !== undefined);
  const leftAtUs = seen.leftAtUs as number;
  assert.deepEqual([isMember(seen, leftAtUs), isMember(seen, leftAtUs + 1)], [true, false]);
});

test('its end on purpose is none that is told, and takes connection and process along', async (t) => {
  const { url, sockets } = await startServer(t);
  const sentinel = await start(t, url);
  const seen = await sentinel.join('room', never);
  const gone = once(sockets[0] as Socket, 'disconnect');
  await Promise.all([sentinel.close(), sentinel.close()]);
  await gone;
  assert.equal(seen.leftAtUs, undefined);
});

test('a target that refuses is told as the probe tells it', async (t) => {
  await assert.rejects(start(t, 'http://127.0.0.1:1'), { code: 'TARGET_UNREACHABLE', message: /ECONNREFUSED/ });
});

test('a server that refuses is quoted', async (t) => {
  const { url, io } = await startServer(t);
  io.use((_socket, next) => next(Object.assign(new Error('bad token\x07'), { data: { hint: 'ask Ali' } })));
  const message = /the server refused it: bad token\\u\{7\} \{"hint":"ask Ali"\}/;
  await assert.rejects(start(t, url), { code: 'TARGET_UNREACHABLE', message });
});

test('a run that is stopped does not wait for a join', async (t) => {
  const { url } = await startServer(t, false);
  const sentinel = await start(t, url);
  const stop = new AbortController();
  const joining = sentinel.join('room', stop.signal);
  stop.abort(new Error('stopped'));
  await assert.rejects(joining, /stopped/);
});
