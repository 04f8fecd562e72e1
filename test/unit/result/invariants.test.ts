import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { violationsOf } from '../../../plugin/result/invariants/invariants.ts';
import { memoryFigures } from '../../../plugin/result/memory/assemble-memory.ts';
import type { LayerBytes } from '../../../plugin/run/measurements/memory-measured.ts';
import { newOverTime } from '../../../plugin/run/memory/measure-over-time.ts';
import { LAYERS } from '../../../plugin/samplers/index.ts';
import { costText } from '../../../report/answer/cost.ts';
import { memoryPerConnection } from '../../../report/figures/per-connection.ts';
import { measurements } from '../../helpers/measurements.ts';
import { readingsOf } from '../../helpers/readings.ts';
import { perfectResult } from '../../helpers/results.ts';
import { testCases } from '../../helpers/verdict.ts';

const MB = 1024 ** 2;
const CONNECTIONS = [0, 200, 400, 600, 800];

/** Node server of 80 MB. Each connection uses 13 KB of its heap. The memory after a collection varies by some KB. */
const honest = (n: number): LayerBytes => ({
  workerRss: 80 * MB + 14_000 * n + (n % 7) * 4096,
  workerPss: 70 * MB + 14_000 * n + (n % 7) * 4096,
  workerHeapUsed: 20 * MB + 13_000 * n + (n % 5) * 1000,
  workerExternal: 2 * MB,
  workerKept: 22 * MB + 13_000 * n + (n % 5) * 1000,
});

const run = (at: (n: number) => LayerBytes, control = true) =>
  measurements({
    control,
    peakConnections: 800,
    plateaus: CONNECTIONS.map((connections) => {
      const layers = at(connections);
      return { connections, layers, readings: [layers, layers], inService: layers };
    }),
  });

const changed = (change: (n: number) => LayerBytes) => (n: number) => ({ ...honest(n), ...change(n) });
const only = (figure: string, at: (n: number) => number) => (n: number) => ({ [figure]: at(n) });

/** Reported layers, the figures that are left out, and the stated reason. */
const CASES: [what: string, at: (n: number) => LayerBytes, figures: string[], text: RegExp][] = [
  [
    'constant RSS',
    changed(() => ({ workerRss: 80 * MB })),
    ['workerRss'],
    /workerRss was 83,886,080 bytes in all 15 readings, from 0 to 800 connections/,
  ],
  [
    'RSS that changes by less than any connection takes',
    only('workerRss', (n) => 80 * MB + n),
    ['workerRss'],
    /moved by 800 bytes only/,
  ],
  ['RSS of 119 KB', only('workerRss', (n) => 119_000 + n), ['workerRss'], /119,000 bytes.* at least 0.5 MB/],
  [
    'RSS of a Node server in kilobytes',
    changed((n) => ({ workerRss: 1e6 + 1400 * n })),
    ['workerRss'],
    /1 Node processes have at least 20.0 MB/,
  ],
  [
    'a heap that is constant while connections arrive',
    changed((n) => ({ workerHeapUsed: 20 * MB, workerKept: 22 * MB + n })),
    ['workerHeapUsed', 'workerKept'],
    /workerHeapUsed was 20,971,520 bytes/,
  ],
  [
    'a heap larger than its process',
    changed((n) => ({ workerHeapUsed: 100 * MB + 13_000 * n })),
    ['workerHeapUsed', 'workerKept', 'workerRss', 'workerPss'],
    /workerHeapUsed was 100.0 MB, and workerRss, which contains it, 80.0 MB/,
  ],
  [
    'PSS above RSS',
    changed((n) => ({ nginxRss: 9 * MB + n, nginxPss: 90 * MB + n })),
    ['nginxPss', 'nginxRss'],
    /nginxPss was 90.0 MB/,
  ],
  ['negative memory', changed((n) => ({ redisUsedMemory: -5 * n })), ['redisUsedMemory'], /was -4,000 bytes/],
];

describe('impossible memory readings', () => {
  for (const [what, at, figures, text] of CASES) {
    it(`omits impossible figures with a single reason: ${what}`, () => {
      const measured = run(at);
      const found = violationsOf(measured);
      assert.equal(found.length, 1, JSON.stringify(found));
      assert.match(found[0]?.message ?? '', text);
      const memory = memoryFigures(measured, { layers: LAYERS, samples: [] });
      for (const figure of figures) {
        const shown = [memory.perConnectionBytes, memory.peakBytes, ...memory.plateaus].some((one) => figure in one);
        assert.ok(!shown, `${figure} is left out`);
        assert.match(memory.absent[figure] ?? '', text);
      }
    });
  }

  it('accepts constant RSS if its few connections fitted into free pages', () => {
    const own = ['/proc of its processes', 'ps'].map((source) => {
      const measured = run(
        only('workerRss', () => 80 * MB),
        false,
      );
      measured.lastReadings = readingsOf({ workerRss: 0 }, source);
      for (const plateau of measured.plateaus) plateau.connections /= 20;
      return measured;
    });
    for (const measured of own) {
      assert.deepEqual(violationsOf(measured), []);
      const result = perfectResult();
      result.memory = memoryFigures(measured, { layers: LAYERS, samples: [] });
      const cost = memoryPerConnection(result) ?? assert.fail('no cost');
      assert.deepEqual([cost.low95, cost.high95], [0, (4 * MB) / 40]);
      assert.match(costText(cost, false), /too few connections: they fitted into memory .* 0\.0 and 102\.4 KB/);
    }
  });

  it('accepts a Go server of 12 MB, and a JVM whose heap grows into free pages', () => {
    for (const runtime of ['go', 'jvm'] as const) {
      const measured = run(
        (n) => ({ ...honest(n), workerRss: 12 * MB + 100 * n, workerPss: 12 * MB + 100 * n }),
        false,
      );
      measured.inspectors = { size: 1, longestPauseMs: 1, runtime };
      assert.deepEqual(violationsOf(measured), []);
    }
  });

  it('accepts a heap that grows while RSS falls, but marks the RSS as unreliable', () => {
    for (const [startMb, control] of [
      [180, true],
      [300, false],
    ] as const) {
      const measured = run(
        changed((n) => ({ workerRss: (n === 0 ? startMb : startMb - 74.6) * MB + 14_000 * n })),
        control,
      );
      assert.deepEqual(violationsOf(measured), []);
      const { perConnectionBytes } = memoryFigures(measured, { layers: LAYERS, samples: [] });
      const { workerRss, workerPss, workerKept } = perConnectionBytes;
      assert.deepEqual([workerRss?.doubt, workerPss?.doubt, workerKept?.doubt], ['freed', 'freed', undefined]);
    }
  });

  it('impossible memory readings invalidate only memory, and impossible CPU readings only CPU', () => {
    const found = violationsOf(run(only('workerRss', () => 80 * MB)));
    assert.deepEqual(
      found.map(({ invalidates }) => invalidates),
      [['memory']],
    );
  });

  it('waves with constant RSS show neither a leak nor its absence', () => {
    const overTime = newOverTime({ collect: false }, true);
    const at = (t: number, connections: number, gone: number) => ({
      t,
      connections,
      gone,
      layers: { workerRss: 80 * MB },
    });
    for (let wave = 0; wave < 5; wave++) {
      overTime.peaks.push(at(wave, 100, 100 * wave));
      overTime.readings.add(at(wave + 0.5, 0, 100 * wave + 100));
    }
    const measured = measurements({ overTime, plateaus: [{ connections: 0, layers: { workerRss: 80 * MB } }] });
    const memory = memoryFigures(measured, { layers: LAYERS, samples: [] });
    assert.deepEqual(memory.overTime?.drift, {});
    assert.match(memory.absent.workerRss ?? '', /from 0 to 100 connections/);
  });

  const page = (n: number) => honest(n - (n % 400));
  for (const [what, at, control] of [
    ['an honest server', honest, true],
    ['an honest server without collections', honest, false],
    ['a page that changes rarely', page, false],
    ['a small process that is not Node', only('workerRss', (n) => 2 * MB + 3000 * n), true],
    ['RSS that grows less than the heap, into free pages', changed((n) => ({ workerRss: 80 * MB + 10_000 * n })), true],
  ] as const) {
    it(`accepts possible readings: ${what}`, () => assert.deepEqual(violationsOf(run(at, control)), []));
  }

  testCases([
    [
      'impossible RSS of the workers',
      (_, measured) => Object.assign(measured, run(only('workerRss', () => 80 * MB))),
      'READINGS_IMPOSSIBLE',
      'workerRss',
    ],
  ]);
});
