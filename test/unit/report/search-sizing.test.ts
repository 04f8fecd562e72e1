/** Machines for a number of users. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { sizingOf } from '../../../report/search/sizing.ts';
import { assertEach, column, columns } from '../../helpers/columns.ts';
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
  // About 110 MB of workers and 9 MB of nginx; what the headline says that a connection needs.
  const { bytes, inService } = resultWithPings().memory.perConnection ?? assert.fail('no headline');
  assert.ok(bytes && inService);
  assert.ok(Math.abs((memory?.max ?? 0) / (((8192 - 119) * MB) / inService) - 1) < 0.03, String(memory?.max));
  const kilobytes = (size: number) => (size / 1024).toFixed(1).replace('.', '\\.');
  assert.match(
    memory?.assumption ?? '',
    new RegExp(`${kilobytes(inService)} KB .*${kilobytes(bytes)} KB\\).* 1\\d\\d\\.\\d MB;`),
  );
  // 2.1 + 0.4 % of a core for 5,000.
  assert.ok(Math.abs((cpu?.max ?? 0) - 400_000) <= 1);
  assert.match(
    cpu?.assumption ?? '',
    /^Idle connections take 0\.005 cores per 1,000 with a ping every 25 s, and 1,000 connects/,
  );
  assert.deepEqual(columns(sizing.rows, 'users', 'machines'), {
    users: [10_000, 50_000, 100_000, 1_000_000],
    machines: [3, 15, 29, 286],
  });
  const [first] = sizing.rows;
  assert.ok(Math.abs((first?.idleCores ?? 0) - 0.000005 * 3334) < 1e-9);
  // 0.74 s per 1,000 connects, with 1.4 cores less those of idle connections.
  assert.ok(Math.abs((first?.reconnectSeconds ?? 0) - (0.74 * 3.334) / (1.4 - 0.01667)) < 1e-3);
});

it('says that more may be held where nothing broke, and lets memory decide where it is lower', () => {
  const result = perfectResult();
  assert.match(sizingOf(result, false, 0.3)?.walls[0]?.assumption ?? '', /the machine may hold more/);
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
  const remote = resultWithPings();
  // Which tell of themselves, and not of their machine.
  remote.workers = [{} as never];
  Object.assign(remote.run, { profile: 'remote', target: 'https://staging.example.com' });
  const walls = sizingOf(remote, true, 0.3)?.walls ?? [];
  assertEach(walls, ({ max, assumption }) => [max, /runs elsewhere/.test(assumption)], [
    [5000, false],
    [null, true],
    [null, true],
  ]);
  const blind = perfectResult();
  blind.absent = { memory: 'no control port', cpu: 'no control port' };
  const sizing = sizingOf(blind, true, 0.3);
  assert.deepEqual(column(sizing?.walls.slice(1), 'assumption'), [
    'Memory was not measured: no control port',
    'The CPU of idle connections is not known: CPU was not measured: no control port',
  ]);
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
  for (const change of [{ inService: null }, { bytes: null }, { low95: 0, high95: 1e9 }]) {
    const untold = perfectResult();
    Object.assign(untold.memory.perConnection ?? {}, change);
    assert.equal(sizingOf(untold, true, 0.3)?.walls[1]?.max, null);
  }
  const empty = perfectResult();
  empty.connections.held = 0;
  assert.equal(sizingOf(empty, true, 0.3), null);
});

type Change = (result: ReturnType<typeof resultWithPings>) => unknown;

/** The sizing of a level that broke, after a change of its result. */
function sized(change: Change = () => {}, broke = true) {
  const result = resultWithPings();
  change(result);
  return sizingOf(result, broke, 0.3);
}

/** What the connections of one machine take, in bytes. */
const bytesOf = (change?: Change) => sized(change)?.rows[0]?.memoryBytes ?? null;
const change = (id: string, to: object) => (layer: { id: string }) => (layer.id === id ? { ...layer, ...to } : layer);

it('counts in memory what belongs to the deployment: each connection by the headline', () => {
  const whole = bytesOf() ?? 0;
  const needed = resultWithPings().memory.perConnection?.inService ?? 0;
  // 3,334 connections on each of three machines; the noise of the plateaus is that of a fit.
  assert.ok(Math.abs(whole / (119 * MB + 3334 * needed) - 1) < 0.05, `${whole}`);
  const nginx = 9 * MB;
  const CASES: Record<string, [change: Change, moreBytes: number]> = {
    'nothing of the generator': [
      ({ memory }) => (memory.layers = memory.layers.map(change('nginxPss', { belongsTo: 'generator' })) as never),
      -nginx,
    ],
    'nothing that is no memory': [
      ({ memory }) => (memory.layers = memory.layers.map(change('nginxPss', { unit: 'cpuSeconds' })) as never),
      -nginx,
    ],
    'what a layer takes without connections': [({ memory }) => atZero(memory, { nginxPss: 209 * MB }), 200 * MB],
    'nothing of what was not read without any': [({ memory }) => atZero(memory, { nginxPss: undefined }), -9 * MB],
  };
  for (const [name, [changed, moreBytes]] of Object.entries(CASES)) {
    const found = (bytesOf(changed) ?? Number.NaN) - whole;
    assert.ok(Math.abs(found - moreBytes) <= 0.02 * Math.abs(moreBytes), `${name}: ${found}, not ${moreBytes}`);
  }
});

function atZero({ plateaus }: { plateaus: object[] }, values: object) {
  Object.assign(plateaus[0] ?? {}, values);
}

it('quotes no memory where the headline is not told', () => {
  for (const to of [{ bytes: null }, { inService: null }, { inService: 0 }, { low95: 0, high95: 1e9 }]) {
    const sizing = sized(({ memory }) => Object.assign(memory.perConnection ?? {}, to));
    assert.deepEqual([sizing?.walls[1]?.max, sizing?.rows[0]?.memoryBytes], [null, null]);
    assert.match(sizing?.walls[1]?.assumption ?? '', /could not tell the memory/);
  }
  assert.equal(sized(({ memory }) => Object.assign(memory, { perConnection: null }))?.walls[1]?.max, null);
});

it('is by the lowest wall, and nothing where no connection fits', () => {
  const limits =
    (to: object): Change =>
    (result) =>
      Object.assign(result.environment.limits, to);
  const memory =
    (bytes: number): Change =>
    (result) =>
      (result.environment.memoryBytes = bytes);
  const CASES: [change: Change, broke: boolean, decides: string, perMachine: number, atMost: boolean][] = [
    [() => {}, true, 'held', 3500, false],
    [() => {}, false, 'held', 3500, true],
    [({ connections }) => Object.assign(connections, { held: null, peak: 1000 }), true, 'held', 700, false],
    // 5e-6 cores for each connection.
    [limits({ cpuQuotaCores: 0.01 }), true, 'cpu', 1400, false],
    [limits({ cpuQuotaCores: 0.01 }), false, 'cpu', 1400, false],
  ];
  for (const [changed, broke, decides, perMachine, atMost] of CASES) {
    const sizing = sized(changed, broke);
    assert.deepEqual([sizing?.decides, sizing?.atMost], [decides, atMost]);
    assert.ok(Math.abs((sizing?.perMachine ?? 0) - perMachine) <= 1, `${sizing?.perMachine}`);
  }
  assert.equal(sized(memory(100 * MB)), null);
});

it('tells no time to reconnect where no ramp was measured', () => {
  const sizing = sized(({ cpu }) => {
    for (const layer of Object.values(cpu)) layer.rampSecondsPerThousandConnects = null;
  });
  assert.equal(sizing?.rows[0]?.reconnectSeconds, null);
  assert.match(sizing?.walls[2]?.assumption ?? '', /ping every 25 s; there/);
});
