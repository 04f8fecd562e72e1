import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import type { FleetError } from '../../../plugin/fleet/client/failure.ts';
import { column, columns } from '../../helpers/columns.ts';
import { startDropping } from '../../helpers/dropping-server.ts';
import { fleetSettings, joinAll, startFleet } from '../../helpers/fleet.ts';
import { eventually } from '../../helpers/poll.ts';
import { missingTools } from '../../helpers/tools.ts';

async function start(t: TestContext, processes: number, silentAfterMs?: number) {
  const server = await startDropping(t);
  return { server, fleet: await startFleet(t, fleetSettings(server.url), processes, silentAfterMs) };
}

test('a killed fleet process closes its connections, all are counted, and the other process continues', async (t) => {
  const { server, fleet } = await start(t, 2);
  const connections = await joinAll(fleet, 32);
  const reasons: string[] = [];
  for (const connection of connections) connection.watch({ dropped: (reason) => reasons.push(reason) });
  await eventually('32 members', () => fleet.status().joined === 32);

  server.broadcast();
  await eventually('32 receipts', () => fleet.status().received === 32);
  const { processes } = await fleet.snapshot();
  process.kill(processes[0]?.pid as number, 'SIGKILL');
  await eventually('16 drops', () => reasons.length === 16);
  assert.deepEqual(new Set(reasons), new Set(['fleet process died']));
  await eventually('16 members left', () => server.members() === 16);

  server.broadcast();
  await eventually('16 more receipts', () => fleet.status().received === 48);
  const rows = await fleet.freeze(server.orders);
  const sum = (seq: number, key: 'expected' | 'received' | 'lostDisconnected') =>
    rows.filter((row) => row.seq === seq).reduce((total, row) => total + row[key], 0);
  assert.deepEqual([sum(1, 'expected'), sum(1, 'received'), sum(1, 'lostDisconnected')], [32, 16, 16]);
  assert.deepEqual([sum(2, 'expected'), sum(2, 'received'), sum(2, 'lostDisconnected')], [16, 16, 0]);

  const snapshot = await fleet.snapshot();
  assert.equal(snapshot.connected, 16);
  assert.equal(snapshot.disconnects['fleet process died'], 16);
  assert.deepEqual(column(snapshot.processes, 'alive'), [false, true]);
  await fleet.connection().open('/');
  const { asked, pending, alive, failed, ended } = (await fleet.snapshot()).accounts;
  assert.deepEqual([asked, pending, alive, failed, ended], [33, 0, 17, {}, { 'fleet process died': 16 }]);
});

test('connection counts stay consistent after a fleet process was killed in any state', async (t) => {
  const { fleet } = await start(t, 1);
  await joinAll(fleet, 3);
  const [child] = (await fleet.snapshot()).processes;
  // Prepares a connection that closes after the last snapshot, an open connection, and three opening connections.
  const [closed] = await joinAll(fleet, 2);
  await closed?.close();
  process.kill(child?.pid as number, 'SIGSTOP');
  const opening = Array.from({ length: 3 }, () => fleet.connection().open('/'));
  process.kill(child?.pid as number, 'SIGKILL');
  for (const { status } of await Promise.allSettled(opening)) assert.equal(status, 'rejected');
  const { accounts, disconnects } = await fleet.snapshot();
  const ended = { 'io client disconnect': 1, 'fleet process died': 4 };
  assert.deepEqual(accounts, {
    asked: 8,
    pending: 0,
    alive: 0,
    peak: 5,
    failed: { fleet_dead: 3 },
    ended,
    returned: 0,
  });
  assert.deepEqual(disconnects, ended);
});

test('a suspended fleet process is excluded after a while, and reported as unresponsive', async (t) => {
  const { fleet } = await start(t, 2, 300);
  await joinAll(fleet, 32);
  await eventually('32 members', () => fleet.status().joined === 32);
  const before = await fleet.snapshot();
  const stopped = before.processes[0]?.pid as number;
  process.kill(stopped, 'SIGSTOP');
  const { processes, connected } = await fleet.snapshot();
  assert.deepEqual(columns(processes, 'alive', 'answers'), { alive: [true, true], answers: [false, true] });
  assert.equal(connected, 32);
  const rows = await fleet.freeze([{ seq: 1, room: 'capacity', sentAtUs: 2 ** 50, intendedAtUs: 2 ** 50 }]);
  assert.deepEqual(rows.map(({ process: index, expected, received }) => [index, expected, received]).sort(), [
    [0, 16, 0],
    [1, 16, 0],
  ]);
  process.kill(stopped, 'SIGCONT');
});

test('a fleet process at its limit of open files keeps its connections, and still reports them', {
  skip: missingTools('prlimit'),
}, async (t) => {
  const { fleet } = await start(t, 1);
  await joinAll(fleet, 16);
  const pid = (await fleet.snapshot()).processes[0]?.pid as number;
  const files = readdirSync(`/proc/${pid}/fd`).length;
  execFileSync('prlimit', ['--pid', String(pid), `--nofile=${files}`]);
  const opened = await Promise.allSettled(Array.from({ length: 40 }, () => fleet.connection().open('/')));
  const refused = opened.filter(({ status }) => status === 'rejected').length;
  assert.ok(refused > 0);
  const { processes, connected, disconnects, accounts } = await fleet.snapshot();
  assert.deepEqual(columns(processes, 'alive', 'answers'), { alive: [true], answers: [true] });
  const held = 16 + opened.length - refused;
  assert.deepEqual([connected, disconnects, accounts.alive], [held, {}, held]);
  assert.deepEqual(accounts.failed, { EMFILE: refused });
});

test('an invalid request to a fleet process fails without affecting other requests', async (t) => {
  const { server, fleet } = await start(t, 1);
  const [connection] = await joinAll(fleet, 2);
  server.broadcast();
  await eventually('2 receipts', () => fleet.status().received === 2);
  const orders = [null, {}, 7, { seq: 1, room: 'capacity' }, { id: {}, sentAtUs: {} }, { seq: 1n, sentAtUs: 1n }];
  for (const order of orders) await fleet.freeze([order as never]).catch(() => {});
  await fleet.sight(true, 7 as never);
  await fleet.messages('never' as never);
  await fleet.fault(null as never);
  const refused = new Promise<FleetError>((resolve, reject) => {
    connection?.watch({ refused: resolve, dropped: (reason) => reject(new Error(reason)) });
  });
  connection?.emit('/', 'not for JSON', [1n]);
  assert.match((await refused).message, /BigInt/);
  await assert.rejects(connection?.emitWithAck('/', 'nor this', [1n], 5000) ?? Promise.resolve(), /BigInt/);
  const { processes, connected } = await fleet.snapshot();
  assert.deepEqual([processes[0]?.alive, processes[0]?.answers, connected], [true, true, 2]);
});
