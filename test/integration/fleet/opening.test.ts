import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, test } from 'node:test';
import type { Socket } from 'socket.io';
import { startApp } from '../../helpers/app.ts';
import { assertEach } from '../../helpers/columns.ts';
import { fleetSettings, startFleet } from '../../helpers/fleet.ts';

const app = await startApp({ after });
app.io.of('/closed').use((_socket, next) => next(new Error('closed')));
const fleet = await startFleet({ after }, fleetSettings(app.url));

test('what is emitted while the namespace opens is sent as soon as it is open, in order', async () => {
  const arrived: unknown[] = [];
  app.io.once('connection', (socket: Socket) => socket.onAny((...event) => arrived.push(event)));
  const connection = fleet.connection();
  const opened = connection.open('/', { emit: { event: 'first', args: [1] } });
  connection.emit('/', 'second', [2]);
  connection.emit('/', 'join_room', ['early']);
  await opened;
  await connection.emitWithAck('/', 'join_room', ['late'], 5000);
  assertEach(arrived, (event) => (event as unknown[]).slice(0, 2), [
    ['first', 1],
    ['second', 2],
    ['join_room', 'early'],
    ['join_room', 'late'],
  ]);
});

test('what was emitted for a namespace that is refused is forgotten', async () => {
  const connection = fleet.connection();
  const connected = once(app.io, 'connection');
  await connection.open('/');
  const [socket] = (await connected) as [Socket];
  const refused = connection.open('/closed');
  connection.emit('/closed', 'unheard', []);
  await assert.rejects(refused, { code: 'namespace_refused' });
  const arrived: unknown[] = [];
  socket.onAny((event) => arrived.push(event));
  await connection.emitWithAck('/', 'join_room', ['room'], 5000);
  assert.deepEqual(arrived, ['join_room']);
});

test('connections that come together share a process; one by one they go to the emptiest', async (t) => {
  const pair = await startFleet(t, fleetSettings(app.url), 2);
  const together = Array.from({ length: 40 }, () => {
    const connection = pair.connection();
    return { connection, opened: connection.open('/') };
  });
  const processes = together.map(({ connection }) => processOf(connection));
  const [first, second] = new Set(processes);
  assert.deepEqual(processes, [...Array(16).fill(first), ...Array(16).fill(second), ...Array(8).fill(first)]);
  await Promise.all(together.map(({ opened }) => opened));

  for (let index = 0; index < 8; index++) {
    const late = pair.connection();
    assert.equal(processOf(late), second);
    await late.open('/');
  }
});

/** The process that holds it. */
function processOf(connection: object): unknown {
  const { child } = connection as { child?: unknown };
  assert.ok(child);
  return child;
}
