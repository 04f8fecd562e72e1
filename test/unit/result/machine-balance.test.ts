import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { memoryFigures } from '../../../plugin/result/memory/assemble-memory.ts';
import { machineBalance } from '../../../plugin/result/memory/machine-balance.ts';
import type { LayerBytes, MemoryHolder, Plateau } from '../../../plugin/run/measurements/memory-measured.ts';
import { LAYERS } from '../../../plugin/samplers/index.ts';
import { measurements } from '../../helpers/measurements.ts';
import { type Change, testCases } from '../../helpers/verdict.ts';

const KB = 1024;
const MB = 1024 ** 2;
const CONNECTIONS = [0, 250, 500, 750, 1000];
const HEADLINE = 16 * KB;

type Extra = (connections: number) => { layers?: LayerBytes; holders?: MemoryHolder[] };

const process = (pid: number, mb: number): MemoryHolder => ({
  id: `${pid}`,
  pid,
  name: `cache ${pid}`,
  bytes: mb * MB,
});

/** @param noiseMb fluctuation of other programs in MB */
function moment(connections: number, index: number, extra: Extra, noiseMb = 0.1) {
  const noise = [0, 0.9, -0.6, 1, 0.3][index % 5] ?? 0;
  const { layers = {}, holders = [] } = extra(connections);
  const { systemUnmeasured = 0, systemUnmeasuredShared = 0, systemKernel = 0 } = layers;
  return {
    holders,
    layers: {
      systemUnmeasured: 900 * MB + noise * noiseMb * MB + systemUnmeasured,
      systemUnmeasuredShared: MB + systemUnmeasuredShared,
      systemKernel: 80 * MB + noise * 100 * KB + connections * 8 * KB + systemKernel,
    },
  };
}

interface Changes {
  noiseMb?: number;
  /** Memory one second before the end of each plateau. A ramp takes nine seconds. */
  earlier?: Extra;
  /** Memory one second after the last plateau. */
  later?: Extra;
}

function balance(extra: Extra, { noiseMb, earlier = extra, later = extra }: Changes = {}) {
  const plateaus: Plateau[] = CONNECTIONS.map((connections, index) => {
    const [before, after] = [earlier, extra].map((one) => moment(connections, index, one, noiseMb));
    const t = index * 10;
    const machine = { before: { t: t - 1, ...before }, after: { t, ...after } } as Plateau['machine'];
    return { connections, layers: after?.layers ?? {}, machine };
  });
  const standstill = { t: 41, ...moment(1000, 4, later, noiseMb) };
  const measured = measurements({ plateaus, standstill });
  const { perConnectionBytes } = memoryFigures(measured, { layers: LAYERS, samples: [] });
  const perConnection = { bytes: HEADLINE } as NonNullable<Parameters<typeof machineBalance>[0]['perConnection']>;
  const found = machineBalance({ perConnection, perConnectionBytes }, measured);
  const parts = Object.fromEntries((found?.parts ?? []).map((one) => [one.part, one]));
  const significant = [...(found?.parts ?? []), ...(found?.holders ?? [])].filter((one) => one.isSignificant);
  return { found, parts, significant };
}

const perConnection = (figure: string, bytes: number): Extra => {
  return (connections) => ({ layers: { [figure]: bytes * connections } });
};

describe('the balance of the machine', () => {
  it('the balance of the machine reports nothing if only measured processes and sockets grow', () => {
    const { parts, significant } = balance(() => ({}));
    assert.deepEqual([Object.keys(parts), significant], [['shared', 'programs', 'kernel'], []]);
  });

  for (const [part, figure] of [
    ['shared', 'systemUnmeasuredShared'],
    ['programs', 'systemUnmeasured'],
    ['kernel', 'systemKernel'],
  ] as const)
    it(`the balance of the machine finds 64 KB per connection in ${part}, and nothing elsewhere`, () => {
      const { significant, parts } = balance(perConnection(figure, 64 * KB));
      assert.deepEqual(significant, [parts[part]]);
      const { bytes = 0, low95, high95 } = parts[part] ?? {};
      const truth = part === 'kernel' ? 72 * KB : 64 * KB;
      assert.ok(low95 && high95 && low95 <= truth && truth <= high95 && Math.abs(bytes - truth) < 2 * KB);
    });

  it('the balance of the machine finds shared memory even if other programs move by 500 MB', () => {
    const { parts, significant } = balance(perConnection('systemUnmeasuredShared', 64 * KB), { noiseMb: 500 });
    assert.deepEqual(significant, [parts.shared]);
    assert.ok((parts.programs?.high95 ?? 0) > 100 * KB);
  });

  it('the balance of the machine reports the process that grew with connections, even if other programs move', () => {
    const holders = [0, 0, 400, 10, 300].map((mb, index) => [process(7, 10 + 16 * index), process(8, mb)]);
    const { significant } = balance((n) => ({ holders: holders[CONNECTIONS.indexOf(n)] ?? [] }), { noiseMb: 500 });
    assert.deepEqual(
      significant.map((one) => 'name' in one && [one.pid, one.name]),
      [[7, 'cache 7']],
    );
  });

  it('the balance of the machine reports the mount point of growing shared memory', () => {
    const files = (n: number) => ({ id: 'files', pid: null, name: 'files of /dev/shm', bytes: n * 64 * KB });
    const { significant } = balance((n) => ({ holders: [files(n)] }));
    assert.deepEqual(
      significant.map((one) => 'name' in one && one.name),
      ['files of /dev/shm'],
    );
  });

  it('the balance of the machine excludes a process that ended, or that grows without arrivals', () => {
    const growing: Extra = (n) => ({ holders: [process(7, 10 + (n * 64) / 1000)] });
    const later: Extra[] = [() => ({ holders: [process(7, 75.6)] }), () => ({})];
    for (const one of later) assert.deepEqual(balance(growing, { later: one }).significant, []);
    const earlier: Extra = (n) => ({ holders: [process(7, 10 + ((n - 25) * 64) / 1000)] });
    assert.deepEqual(balance(growing, { earlier }).significant, [], 'it grows in the pauses');
    assert.equal(balance(growing).significant.length, 1, 'it stood still');
  });

  it('the balance of the machine excludes programs that keep growing without arrivals', () => {
    const later = perConnection('systemUnmeasured', 65.8 * KB);
    assert.deepEqual(balance(perConnection('systemUnmeasured', 64 * KB), { later }).significant, []);
  });

  it('the balance of the machine excludes programs that grow unevenly', () => {
    const steps = [0, 100, 800, 1100, 2900];
    const uneven: Extra = (n) => ({ layers: { systemUnmeasured: (steps[CONNECTIONS.indexOf(n)] ?? 0) * MB } });
    assert.deepEqual(balance(uneven).significant, []);
  });

  it('the balance of the machine excludes amounts below a tenth of the cost of a connection', () => {
    assert.deepEqual(balance(perConnection('systemUnmeasuredShared', 1.5 * KB)).significant, []);
  });

  it('the memory balance of the machine is unknown if the measured programs are on other machines', () => {
    const memory = { perConnection: null, perConnectionBytes: {} };
    assert.equal(machineBalance(memory, measurements({ plateaus: [{ connections: 1, layers: {} }] })), null);
    assert.equal(machineBalance(memory, measurements()), null);
  });
});

describe('memory outside the measured processes', () => {
  const interval = (kb: number, isSignificant: boolean) => {
    return { bytes: kb * KB, low95: (kb - 4) * KB, high95: (kb + 4) * KB, isSignificant };
  };
  const balanced =
    (shared: boolean, held: boolean): Change =>
    ({ memory }) => {
      memory.balance = {
        parts: [{ part: 'shared', ...interval(64, shared) }],
        holders: [{ pid: 7, name: 'memcached', ...interval(32, held) }],
      };
    };
  const isShared = ['64.0 KB (between 60.0 and 68.0 KB) in shared memory'];
  const isHeld = ['32.0 KB (between 28.0 and 36.0 KB) in process 7 (memcached)'];
  testCases([
    [
      'memory outside the measured processes, in shared memory',
      balanced(true, false),
      'MEMORY_UNEXPLAINED',
      ...isShared,
    ],
    ['memory outside the measured processes, in a process', balanced(false, true), 'MEMORY_UNEXPLAINED', ...isHeld],
    [
      'memory outside the measured processes, in shared memory and a process',
      balanced(true, true),
      'MEMORY_UNEXPLAINED',
      ...isShared,
      ...isHeld,
    ],
    ['memory outside the measured processes, within its error', balanced(false, false)],
  ]);
});
