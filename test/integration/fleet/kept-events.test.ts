/** Events that a later step waits for stay in the fleet process until it begins: a flood of them does not cross its channel. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { it, type TestContext } from 'node:test';
import type { Server, Socket } from 'socket.io';
import type { FleetConnection } from '../../../plugin/fleet/remote-connection.ts';
import { startChat } from '../../helpers/chat-server.ts';
import { fleetSettings, startFleet } from '../../helpers/fleet.ts';

const KEPT = 16;

/** A server that sends `count` ticks and then acknowledges, whenever it is asked to. */
function flood(io: Server): void {
  io.on('connection', (socket: Socket) => {
    socket.on('flood', (from: number, count: number, done: () => void) => {
      for (let tick = from; tick < from + count; tick++) socket.emit('tick', tick);
      done();
    });
  });
}

async function open(t: TestContext) {
  const server = await startChat(t, flood);
  const connection = (await startFleet(t, fleetSettings(server.url))).connection();
  const got: unknown[] = [];
  let displaced = 0;
  let onTick = () => {};
  connection.watch({ displaced: (count) => (displaced += count) });
  const listen = connection.listen('/', 'tick', ([tick]) => {
    got.push(tick);
    onTick();
  });
  listen('hold');
  await connection.open('/');
  /** Waits until so many ticks have come over the channel. */
  const ticks = (count: number) =>
    new Promise<void>((resolve) => {
      onTick = () => got.length >= count && resolve();
      onTick();
    });
  return { server, connection, listen, got, ticks, displaced: () => displaced };
}

function ask(connection: FleetConnection, from: number, count: number): Promise<unknown> {
  return connection.emitWithAck('/', 'flood', [from, count], 5000);
}

it('the newest are handed over when a step takes them, then all that come, until it holds them again', async (t) => {
  const { connection, listen, got, ticks, displaced } = await open(t);
  await ask(connection, 0, 1000);
  // The acknowledgement came after all of them.
  assert.deepEqual([got, displaced()], [[], 0]);
  listen('take');
  await ticks(KEPT);
  assert.deepEqual(
    got,
    Array.from({ length: KEPT }, (_, index) => 1000 - KEPT + index),
  );
  assert.equal(displaced(), 1000 - KEPT);
  await ask(connection, 1000, 100);
  assert.equal(got.length, KEPT + 100, 'a step that waits sees every event');
  listen('hold');
  await ask(connection, 2000, 5);
  assert.equal(got.length, KEPT + 100);
  listen('take');
  await ticks(KEPT + 105);
  assert.equal(got.at(-1), 2004);
});

it('what nobody took is counted at the end of the connection', async (t) => {
  const { connection, displaced } = await open(t);
  await ask(connection, 0, 20);
  await connection.close();
  assert.equal(displaced(), 20 - KEPT);
});

it('they outlast the connection that they came by', async (t) => {
  const { server, connection, listen, got, ticks } = await open(t);
  await ask(connection, 0, 2);
  const dropped = new Promise((resolve) => connection.watch({ dropped: resolve }));
  const reconnected = once(server.io, 'connection');
  server.io.disconnectSockets(true);
  await dropped;
  await connection.open('/');
  await reconnected;
  await ask(connection, 2, 1);
  assert.deepEqual(got, []);
  listen('take');
  await ticks(3);
  assert.deepEqual(got, [0, 1, 2]);
});
