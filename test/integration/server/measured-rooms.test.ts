/**
 * Tests the limits of `join_room` and `broadcast_echo`. A client cannot use them to reach the server's own rooms or
 * events.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { Server, type Socket } from 'socket.io';
import type { Socket as ClientSocket } from 'socket.io-client';
import type { FleetError } from '../../../plugin/fleet/client/failure.ts';
import { Fleet } from '../../../plugin/fleet/fleet.ts';
import { RoundTripProbe } from '../../../plugin/run/receivers/round-trip-probe.ts';
import { MAX_PROBES } from '../../../server/contract/contract.ts';
import { MAX_ROOMS, MAX_ROOMS_PER_CONNECTION } from '../../../server/contract/measured-rooms.ts';
import { type InstrumentOptions, instrument } from '../../../server/instrument.ts';
import { connectClient, onceOf, TOKEN } from '../../helpers/app.ts';
import { startChat } from '../../helpers/chat-server.ts';
import { connectionTo } from '../../helpers/connection.ts';
import { fleetSettings } from '../../helpers/fleet.ts';
import { eventually } from '../../helpers/poll.ts';

/** Starts a chat that puts every client into the room of its user. */
async function start(t: TestContext, options: InstrumentOptions = { token: TOKEN }) {
  const { io, url } = await startChat(t, (server) =>
    server.on('connection', (socket) => {
      const { user } = socket.handshake.auth;
      if (user) socket.join(`user:${user}`);
    }),
  );
  const instrumentation = await instrument(io, options);
  t.after(() => instrumentation.close());
  const connect = async (user?: string) => {
    const client = await connectClient(url, { auth: { user } });
    t.after(() => client.disconnect());
    return client;
  };
  const socketOf = ({ id }: { id?: string | undefined }) => io.of('/').sockets.get(id ?? '') as Socket;
  return { io, url, connect, socketOf, instrumentation };
}

test('a load client cannot join a user’s room, and receives nothing that is sent there', async (t) => {
  const { io, connect } = await start(t);
  const [alice, mallory] = [await connect('alice'), await connect('mallory')];
  const receivedEvents: unknown[] = [];
  const answers = new Set<string>();
  mallory.onAny((...event) => receivedEvents.push(event));
  for (const room of ['user:alice', { clientKey: 'user:alice' }, 'user:nobody', alice.id, 'capacity2', 'Capacity']) {
    const { error, code, fix } = await mallory.emitWithAck('join_room', room);
    answers.add(JSON.stringify({ error, code, fix }));
    assert.equal(code, 'JOIN_REFUSED');
  }
  assert.equal(answers.size, 1, 'which rooms exist is not revealed');
  const received = onceOf(alice, 'secret');
  io.to('user:alice').emit('secret', 42);
  assert.deepEqual(await received, [42]);
  await mallory.emitWithAck('join_room', 'answered after anything sent before');
  assert.deepEqual(receivedEvents, []);
  assert.equal(io.of('/').adapter.rooms.get('user:alice')?.size, 1);
});

test('clients can join the rooms of a run, by default and as configured', async (t) => {
  const byDefault = await start(t);
  const configured = await start(t, { token: TOKEN, rooms: ['lobby', 'arena'] });
  const [onDefault, onConfigured] = [await byDefault.connect('ada'), await configured.connect('ada')];
  for (const room of ['capacity', 'capacity:single', 'capacity:warm-up']) {
    assert.equal((await onDefault.emitWithAck('join_room', { clientKey: room })).members, 1);
    assert.equal((await onConfigured.emitWithAck('join_room', { clientKey: room })).code, 'JOIN_REFUSED');
  }
  for (const room of ['lobby', 'arena:7']) assert.equal((await onConfigured.emitWithAck('join_room', room)).members, 1);
});

function joinMany(client: ClientSocket, from: number, count = MAX_ROOMS_PER_CONNECTION): Promise<{ code?: string }[]> {
  return Promise.all(
    Array.from({ length: count }, (_, index) => client.emitWithAck('join_room', `capacity:${from + index}`)),
  );
}

test('the number of measured rooms is bounded, and emptied rooms do not count', async (t) => {
  const { io, connect } = await start(t);
  const greedy = await Promise.all(Array.from({ length: MAX_ROOMS / MAX_ROOMS_PER_CONNECTION }, () => connect()));
  await Promise.all(greedy.map((client, nth) => joinMany(client, nth * MAX_ROOMS_PER_CONNECTION)));
  const late = await connect();
  assert.equal((await late.emitWithAck('join_room', 'capacity:0')).members, 2, 'an existing room is open');
  assert.equal((await late.emitWithAck('join_room', 'capacity')).code, 'JOIN_REFUSED');
  const left = once(io.of('/').adapter, 'delete-room');
  greedy[1]?.disconnect();
  await left;
  assert.equal((await late.emitWithAck('join_room', 'capacity')).members, 1);
});

test('the number of measured rooms per connection is bounded', async (t) => {
  const { connect } = await start(t);
  const greedy = await connect();
  const answers = await joinMany(greedy, 0, MAX_ROOMS_PER_CONNECTION + 10);
  assert.equal(answers.filter(({ code }) => code === 'JOIN_REFUSED').length, 10);
  assert.equal((await greedy.emitWithAck('join_room', 'capacity:0')).members, 1, 'it is already a member');
});

test('the number of probes is bounded, and disconnected probes do not count', async (t) => {
  const { connect, socketOf } = await start(t);
  const echo = { seq: 1, sentAtUs: 1, data: '' };
  const probes = await Promise.all(Array.from({ length: MAX_PROBES }, () => connect()));
  for (const probe of probes) assert.equal((await probe.emitWithAck('broadcast_echo', echo)).seq, 1);
  const late = await connect();
  assert.match((await late.emitWithAck('broadcast_echo', echo)).error, new RegExp(`${MAX_PROBES} probes`));
  const [first] = probes;
  assert.ok(first);
  assert.equal((await first.emitWithAck('broadcast_echo', echo)).seq, 1);
  const disconnected = once(socketOf(first), 'disconnect');
  first.disconnect();
  await disconnected;
  assert.equal((await late.emitWithAck('broadcast_echo', echo)).seq, 1);
});

test('a refused join fails with its cause for a probe, and with a code for a virtual user', async (t) => {
  const { url } = await start(t);
  const probe = await RoundTripProbe.connect({ connection: connectionTo(url) }, new AbortController().signal);
  t.after(() => probe.close());
  await assert.rejects(probe.join('lobby:single'), {
    code: 'JOIN_REFUSED',
    message: /"lobby:single": the room is not configured for measurements/,
    fix: /instrument\(io, \{rooms/,
  });

  const fleet = await Fleet.start(fleetSettings(url), 1);
  t.after(() => fleet.close());
  const connection = fleet.connection();
  await connection.open('/');
  await assert.rejects(connection.emitWithAck('/', 'join_room', ['user:alice'], 5000), { code: 'join_refused' });
  const refused = new Promise<FleetError>((resolve) => connection.watch({ refused: resolve }));
  connection.emit('/', 'join_room', [{ clientKey: 'user:alice' }]);
  assert.equal((await refused).code, 'join_refused');
  // Waits, because the fleet process sends its counts periodically.
  await eventually('no join is pending', () => fleet.status().joining === 0);
  assert.equal(fleet.status().joined, 0);
});

test('instrument(io) does nothing without a token', async (t) => {
  for (const options of [{}, { token: '' }, { token: undefined, worker: 'w0' }]) {
    const { connect, socketOf, instrumentation } = await start(t, options);
    const socket = socketOf(await connect());
    assert.deepEqual([socket.listenerCount('join_room'), socket.listenerCount('broadcast_echo')], [0, 0]);
    assert.equal(instrumentation.controlPort, 0);
    assert.equal(await instrumentation.registry.metrics(), '\n');
  }
  assert.equal((await instrument(new Server())).controlPort, 0);
});
