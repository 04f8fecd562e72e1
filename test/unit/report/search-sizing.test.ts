import assert from 'node:assert/strict';
import { it } from 'node:test';
import { computeSizing } from '../../../report/search/sizing.ts';
import { assertEach, column, columns } from '../../helpers/columns.ts';
import { resultWithPings } from '../../helpers/results.ts';

const MB = 1024 ** 2;

type Change = (result: ReturnType<typeof resultWithPings>) => unknown;

/** Returns the sizing for a level that broke, after a change of its result. */
function sized(change: Change = () => {}, broke = true) {
  const result = resultWithPings();
  change(result);
  return computeSizing(result, broke, 0.3);
}

it('sizes machines by held connections, memory and CPU with headroom, and marks the lowest limit', () => {
  const sizing = sized();
  assert.ok(sizing);
  const [held, memory, cpu] = sizing.walls;
  assert.deepEqual([held?.max, held?.assumption], [5000, '5,000 connections were held']);
  // The memory is about 110 MB of workers and 9 MB of nginx, plus the headline for each connection.
  const { bytes, inService } = resultWithPings().memory.perConnection ?? assert.fail('no headline');
  assert.ok(bytes && inService);
  assert.ok(Math.abs((memory?.max ?? 0) / (((8192 - 119) * MB) / inService) - 1) < 0.03, String(memory?.max));
  const [needs, keeps] = [inService, bytes].map((size) => (size / 1024).toFixed(1).replace('.', '\\.'));
  assert.match(memory?.assumption ?? '', new RegExp(`${needs} KB .*${keeps} KB\\).* 1\\d\\d\\.\\d MB;`));
  assert.ok(Math.abs((cpu?.max ?? 0) - 400_000) <= 1);
  assert.match(cpu?.assumption ?? '', /take 0\.005 cores per 1,000 with a ping every 25 s, and 1,000 connects/);
  assert.deepEqual(columns(sizing.rows, 'users', 'machines'), {
    users: [10_000, 50_000, 100_000, 1_000_000],
    machines: [3, 15, 29, 286],
  });
  const [first] = sizing.rows;
  assert.ok(Math.abs((first?.idleCores ?? 0) - 0.000005 * 3334) < 1e-9);
  // The CPU is 0.74 s per 1,000 connects. Of 1.4 cores, the CPU of idle connections is subtracted.
  assert.ok(Math.abs((first?.reconnectSeconds ?? 0) - (0.74 * 3.334) / (1.4 - 0.01667)) < 1e-3);
});

it('sizing omits limits of machines that were not observed, and limits from missing figures', () => {
  const remote: Change = ({ run, workers }) => {
    Object.assign(run, { profile: 'remote', target: 'https://staging.example.com' });
    workers.push({} as never);
  };
  assertEach(sized(remote)?.walls, ({ max, assumption }) => [max, /runs elsewhere/.test(assumption)], [
    [5000, false],
    [null, true],
    [null, true],
  ]);
  const blind = sized((result) => (result.absent = { memory: 'no control port', cpu: 'no control port' }));
  assert.deepEqual(column(blind?.walls.slice(1), 'assumption'), [
    'Memory was not measured: no control port',
    'The CPU of idle connections is unknown: CPU was not measured: no control port',
  ]);
  const unknown = { memoryBytes: null, idleCores: null, reconnectSeconds: null };
  assert.deepEqual(blind?.rows[0], { users: 10_000, machines: 3, ...unknown });
  const noisy = sized(({ cpu }) => Object.assign(cpu.worker ?? {}, { idleConnectionsPercent: null }));
  assert.equal(noisy?.walls[2]?.max, null);
});

/** Returns the memory of all connections on a single machine, in bytes. */
const bytesOf = (change?: Change) => sized(change)?.rows[0]?.memoryBytes ?? Number.NaN;

/** Memory of nginx without connections. */
const NGINX_BYTES = 9 * MB;
const nginx =
  (to: object): Change =>
  ({ memory }) =>
    Object.assign(memory.layers.find(({ id }) => id === 'nginxPss') ?? {}, to);
const nginxAtZero =
  (nginxPss: number | undefined): Change =>
  ({ memory }) =>
    Object.assign(memory.plateaus[0] ?? {}, { nginxPss });

it('sizing includes all memory of the deployment, with each connection at its reported cost', () => {
  const whole = bytesOf();
  const needed = resultWithPings().memory.perConnection?.inService ?? 0;
  // Each of three machines has 3,334 connections. The tolerance is the noise of the fitted plateaus.
  assert.ok(Math.abs(whole / (119 * MB + 3334 * needed) - 1) < 0.05, `${whole}`);
  const CASES: Record<string, [change: Change, moreBytes: number]> = {
    'no memory of the generator': [nginx({ belongsTo: 'generator' }), -NGINX_BYTES],
    'no figure other than memory': [nginx({ unit: 'cpuSeconds' }), -NGINX_BYTES],
    'memory of a layer without connections': [nginxAtZero(209 * MB), 200 * MB],
    'no memory of a layer without a baseline': [nginxAtZero(undefined), -NGINX_BYTES],
  };
  for (const [name, [change, moreBytes]] of Object.entries(CASES)) {
    const found = bytesOf(change) - whole;
    assert.ok(Math.abs(found - moreBytes) <= 0.02 * Math.abs(moreBytes), `${name}: ${found}, not ${moreBytes}`);
  }
});

it('sizing omits memory if the cost of a connection is unknown', () => {
  for (const to of [{ bytes: null }, { inService: null }, { inService: 0 }, { low95: 0, high95: 1e9 }]) {
    const sizing = sized(({ memory }) => Object.assign(memory.perConnection ?? {}, to));
    assert.deepEqual([sizing?.walls[1]?.max, sizing?.rows[0]?.memoryBytes], [null, null]);
  }
  assert.equal(sized(({ memory }) => Object.assign(memory, { perConnection: null }))?.walls[1]?.max, null);
});

it('sizing follows the lowest limit, and is empty if no connection fits', () => {
  const limits =
    (to: object): Change =>
    ({ environment }) =>
      Object.assign(environment.limits, to);
  const memory =
    (memoryBytes: number): Change =>
    ({ environment }) =>
      Object.assign(environment, { memoryBytes });
  const CASES: [change: Change, broke: boolean, decides: string, perMachine: number, atMost: boolean][] = [
    [() => {}, true, 'held', 3500, false],
    [() => {}, false, 'held', 3500, true],
    [({ connections }) => Object.assign(connections, { held: null, peak: 1000 }), true, 'held', 700, false],
    // The memory is 140 MB, minus 119 MB without connections, at 21,140 bytes per connection.
    [memory(200 * MB), true, 'memory', 1041, false],
    [limits({ containerMemoryBytes: 200 * MB }), true, 'memory', 1041, false],
    [limits({ cpuQuotaCores: 0.01 }), true, 'cpu', 1400, false],
    [limits({ cpuQuotaCores: 0.01 }), false, 'cpu', 1400, false],
  ];
  for (const [changed, broke, decides, perMachine, atMost] of CASES) {
    const sizing = sized(changed, broke);
    assert.deepEqual([sizing?.decides, sizing?.atMost], [decides, atMost]);
    assert.ok(Math.abs((sizing?.perMachine ?? 0) - perMachine) <= 1, `${sizing?.perMachine}`);
  }
  assert.equal(sized(memory(100 * MB)), null);
  assert.equal(
    sized(({ connections }) => (connections.held = 0)),
    null,
  );
});

it('sizing omits the time until all clients have reconnected if no ramp was measured', () => {
  const sizing = sized(({ cpu }) => {
    for (const layer of Object.values(cpu)) layer.rampSecondsPerThousandConnects = null;
  });
  assert.equal(sizing?.rows[0]?.reconnectSeconds, null);
  assert.match(sizing?.walls[2]?.assumption ?? '', /ping every 25 s; there/);
});
