/** Machines for a number of users. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { sizingOf } from '../../../report/search/sizing.ts';
import { perfectResult, resultWithPings } from '../../helpers/results.ts';

const MB = 1024 ** 2;

it('follows from what was held, from memory and from CPU, each with the headroom, and names what decides', () => {
  const sizing = sizingOf(resultWithPings(), true, 0.3);
  assert.ok(sizing);
  assert.equal(sizing.decides, 'held');
  assert.deepEqual([sizing.perMachine, sizing.atMost], [3500, false]);
  assert.equal(sizingOf(perfectResult(), false, 0.3)?.atMost, true);
  const [held, memory, cpu] = sizing.walls;
  assert.deepEqual([held?.max, held?.assumption], [5000, '5,000 connections were held']);
  // About 110 MB of workers and 9 MB of nginx; 18,140 bytes in service and 2,000 of nginx.
  assert.ok(Math.abs((memory?.max ?? 0) / (((8192 - 119) * MB) / 20_140) - 1) < 0.03, String(memory?.max));
  assert.match(
    memory?.assumption ?? '',
    /^Each connection takes 19\.\d KB in service \(Workers PSS, nginx PSS\), and the processes 1\d\d\.\d MB/,
  );
  // 2.1 + 0.4 % of a core for 5,000.
  assert.ok(Math.abs((cpu?.max ?? 0) - 400_000) <= 1);
  assert.match(
    cpu?.assumption ?? '',
    /^Idle connections take 0\.005 cores per 1,000 with a ping every 25 s, and 1,000 connects/,
  );
  assert.deepEqual(
    sizing.rows.map(({ users, machines }) => [users, machines]),
    [
      [10_000, 3],
      [50_000, 15],
      [100_000, 29],
      [1_000_000, 286],
    ],
  );
  const [first] = sizing.rows;
  assert.ok(Math.abs((first?.idleCores ?? 0) - 0.000005 * 3334) < 1e-9);
  // 0.74 s per 1,000 connects, with 1.4 cores less those of idle connections.
  assert.ok(Math.abs((first?.reconnectSeconds ?? 0) - (0.74 * 3.334) / (1.4 - 0.01667)) < 1e-3);
});

it('says that more may be held where nothing broke, and lets memory decide where it is lower', () => {
  const result = perfectResult();
  assert.match(sizingOf(result, false, 0.3)?.walls[0]?.assumption ?? '', /whether the machine holds more is not known/);
  result.environment.memoryBytes = 200 * MB;
  const tight = sizingOf(result, true, 0.3);
  assert.equal(tight?.decides, 'memory');
  assert.ok((tight?.rows[0]?.memoryBytes ?? 0) <= 200 * MB * 0.7);
});

it('counts what a container may use', () => {
  const result = perfectResult();
  result.environment.limits.containerMemoryBytes = 200 * MB;
  assert.equal(sizingOf(result, true, 0.3)?.decides, 'memory');
  const slow = resultWithPings();
  const cpu = (one: typeof slow) => sizingOf(one, true, 0.3)?.walls[2]?.max ?? 0;
  const all = cpu(slow);
  slow.environment.limits.cpuQuotaCores = 0.5;
  assert.ok(Math.abs(cpu(slow) - all / 4) <= 1, `${cpu(slow)} of ${all}`);
});

it('claims nothing of a machine that was not seen, or of figures that are not there', () => {
  const remote = perfectResult();
  Object.assign(remote.run, { profile: 'remote', target: 'https://staging.example.com' });
  assert.deepEqual(
    sizingOf(remote, true, 0.3)?.walls.map(({ max }) => max),
    [5000, null, null],
  );
  const blind = perfectResult();
  blind.absent = { memory: 'no control port', cpu: 'no control port' };
  const sizing = sizingOf(blind, true, 0.3);
  assert.deepEqual(
    sizing?.walls.slice(1).map(({ assumption }) => assumption),
    [
      'Memory was not measured: no control port',
      'The CPU of idle connections is not known: CPU was not measured: no control port',
    ],
  );
  assert.deepEqual(sizing?.rows[0], {
    users: 10_000,
    machines: 3,
    memoryBytes: null,
    idleCores: null,
    reconnectSeconds: null,
  });
  const noisy = resultWithPings();
  if (noisy.cpu.worker) noisy.cpu.worker.idleConnectionsPercent = null;
  assert.equal(sizingOf(noisy, true, 0.3)?.walls[2]?.max, null);
  const empty = perfectResult();
  empty.connections.held = 0;
  assert.equal(sizingOf(empty, true, 0.3), null);
});
