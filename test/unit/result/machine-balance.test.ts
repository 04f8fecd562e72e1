/** What the machine's programs took beyond the measured processes. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { machineBalance } from '../../../plugin/result/memory/machine-balance.ts';
import type { LayerBytes, OtherProgram, Plateau } from '../../../plugin/run/measurements/memory.ts';
import { LAYERS } from '../../../plugin/samplers/index.ts';
import { measurements } from '../../helpers/measurements.ts';
import { testCases } from '../../helpers/verdict.ts';

const KB = 1024;
const MB = 1024 ** 2;
const CONNECTIONS = [0, 250, 500, 750, 1000];

/** A moment of a run: workers take 16 KB per connection, and move on their own by some hundred KB. */
function moment(connections: number, index: number, extra: (connections: number) => LayerBytes): LayerBytes {
  const workerPss = 60 * MB + connections * 16 * KB + ([0, 300, -200, 100, 0][index % 5] ?? 0) * KB;
  const [fleetPss, others] = [50 * MB + connections * 8 * KB, 900 * MB + ([0, 90, -60, 120, 30][index % 5] ?? 0) * KB];
  const { programs = 0, shared = 0, ...more } = extra(connections);
  const systemPrograms = others + workerPss + fleetPss + programs + shared;
  return {
    workerPss,
    workerRss: workerPss + MB,
    fleetPss,
    fleetRss: fleetPss,
    systemPrograms,
    systemShared: MB + shared,
    ...more,
  };
}

function balance(
  extra: (connections: number) => LayerBytes,
  changes: { after?: LayerBytes; others?: OtherProgram[][] } = {},
) {
  const plateaus: Plateau[] = CONNECTIONS.map((connections, index) => ({
    connections,
    layers: moment(connections, index, extra),
  }));
  const [first = [], last = []] = changes.others ?? [];
  const afterBroadcasts = { ...moment(1000, 4, extra), ...changes.after };
  const measured = measurements({ plateaus, afterBroadcasts, otherPrograms: { first, last } });
  return machineBalance(measured, { layers: LAYERS });
}

const program = (pid: number, mb: number): OtherProgram => ({
  pid,
  startedAtUs: 1,
  command: `cache ${pid}`,
  rssBytes: mb * MB,
});

describe('the balance of the machine', () => {
  it('explains everything where only measured processes grow', () => {
    const found = balance(() => ({}));
    assert.equal(found?.isSignificant, false);
    assert.ok(Math.abs(found?.unexplainedBytes ?? 99) < KB, String(found?.unexplainedBytes));
  });

  it('finds 64 KB per connection in /dev/shm, with an interval that has them', () => {
    const found = balance((connections) => ({ shared: 64 * KB * connections }));
    const { isSignificant, low95, high95, sharedBytes } = found ?? {};
    assert.equal(isSignificant, true);
    assert.ok((low95 ?? 0) > 50 * KB && (low95 ?? 0) < 64 * KB && (high95 ?? 0) > 64 * KB, `${low95} ${high95}`);
    assert.ok(Math.abs((sharedBytes ?? 0) - 64 * KB) < KB);
  });

  it('finds 64 KB per connection in a neighbour process, and names it', () => {
    const others = [
      [program(7, 10), program(8, 30)],
      [program(7, 72), program(8, 30), program(9, 2)],
    ];
    const found = balance((connections) => ({ programs: 64 * KB * connections }), { others });
    assert.equal(found?.isSignificant, true);
    assert.deepEqual(found?.programs, [{ pid: 7, command: 'cache 7', grewBytes: 62 * MB }]);
  });

  it('is not significant where other programs go on growing while nobody comes', () => {
    const growing = (connections: number) => ({ programs: 64 * KB * connections });
    const full = moment(1000, 4, growing);
    const after = { systemPrograms: (full.systemPrograms ?? 0) + 64 * MB };
    assert.equal(balance(growing, { after })?.isSignificant, false);
  });

  it('is not significant with less than a tenth of what the measured processes take', () => {
    assert.equal(balance((connections) => ({ shared: 2 * KB * connections }))?.isSignificant, false);
  });

  it('is unknown where a measured layer cannot be read at all plateaus, or the machine is another one', () => {
    assert.equal(
      balance((connections) => (connections > 0 ? ({} as LayerBytes) : { nginxRss: MB })),
      null,
    );
    const found = machineBalance(measurements({ plateaus: [] }), { layers: LAYERS });
    assert.equal(found, null);
  });
});

describe('memory that the measured processes do not have', () => {
  const balanced =
    (isSignificant: boolean) =>
    ({ memory }: Parameters<Parameters<typeof testCases>[0][number][1]>[0]) => {
      const programs = [{ pid: 7, command: 'memcached', grewBytes: 62 * MB }];
      const bytes = { unexplainedBytes: 64 * KB };
      const interval = { low95: 60 * KB, high95: 68 * KB };
      memory.balance = { ...bytes, ...interval, sharedBytes: 63 * KB, isSignificant, programs };
    };
  testCases([
    [
      'is significant',
      balanced(true),
      'MEMORY_UNEXPLAINED',
      '64.0 KB',
      '60.0',
      '68.0 KB',
      '63.0 KB',
      7,
      'memcached',
      '62.0 MB',
    ],
    ['is within its error', balanced(false)],
  ]);
});
