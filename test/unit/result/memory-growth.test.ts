import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  growingFigures,
  heldMemoryDoubt,
  steppedFigures,
  widenForDoubt,
} from '../../../plugin/result/memory/doubts.ts';
import type { Measurements } from '../../../plugin/run/measurements/measurements.ts';
import type { SampleRow } from '../../../plugin/samplers/index.ts';
import { LAYERS } from '../../../plugin/samplers/layers/index.ts';

const MB = 1024 * 1024;
const STAGES = Object.entries({ baseline: 0, ramp: 5, hold: 40, broadcasts: 50, drain: 60, disconnect: 65 });

const GO = { size: 1, longestPauseMs: 1, runtime: 'go' } as const;

/** Steady growth by 0.5 MB a second, which is 20 MB until the hold. */
const STEADY = (seconds: number) => 0.5 * seconds;

/**
 * Returns workers that use `costMb` until the hold.
 * @param mbAt growth of idle memory by seconds
 * @param leftMb growth after a collection
 */
function growing(mbAt: (seconds: number) => number, leftMb: number | undefined, costMb = 40, changes = {}) {
  const samples = Array.from({ length: 65 }, (_, t) => ({
    t,
    connections: 1000,
    worker: { rssBytes: (140 + mbAt(t - 40)) * MB, derivedPssBytes: (100 + mbAt(t - 40)) * MB },
  }));
  const workers = (mb: number) => ({ workerRss: (100 + mb) * MB, workerPss: (60 + mb) * MB, workerHeapUsed: mb * MB });
  const measured = {
    control: true,
    workersAtStart: [],
    stages: STAGES.map(([name, t]) => ({ name, t })),
    plateaus: [
      { connections: 0, layers: workers(0) },
      { connections: 1000, layers: workers(costMb) },
    ],
    afterBroadcasts: leftMb === undefined ? undefined : workers(costMb + leftMb),
    ...changes,
  };
  return [...growingFigures(measured, { layers: LAYERS, samples: samples as unknown as SampleRow[] })];
}

describe('memory growth at a constant number of connections', () => {
  /** Growth in MB by seconds of the hold, growth after a collection, and MB that the connections use. */
  const CASES: [what: string, mbAt: (seconds: number) => number, leftMb?: number, costMb?: number][] = [
    ['memory growth at a constant number of connections is noise if it is small', (seconds) => 0.1 * seconds, 0.9, 0.5],
    [
      'memory growth at a constant number of connections is garbage if a collection frees it',
      (seconds) => 3 * seconds,
      1,
    ],
    ['memory growth is not reported if it is small beside the cost of connections', (seconds) => 0.1 * seconds, 2.5],
    ['memory growth is not reported if idle memory goes up and down', (seconds) => 3 * (seconds % 3), 12.5],
    ['memory growth is unknown without broadcasts, which end with a collection', (seconds) => 0.5 * seconds],
  ];
  for (const [what, mbAt, leftMb, costMb] of CASES) {
    it(what, () => assert.deepEqual(growing(mbAt, leftMb, costMb), []));
  }

  it('memory growth at a constant number of connections is a leak if a collection does not free it', () => {
    assert.deepEqual(growing(STEADY, 12.5), ['workerPss', 'workerRss']);
  });

  it('growth of RSS counts only if it shows in V8 or malloc memory, or exceeds V8’s free pages', () => {
    const grownBy = (pagesMb: number, keptMb: number, mallocMb: number) => {
      const layersOf = (pages: number, keptBytes: number, malloc: number) => ({
        ...{ workerRss: (100 + pages) * MB, workerPss: (60 + pages) * MB },
        ...{ workerKept: keptBytes * MB, workerMalloc: malloc * MB },
      });
      return growing(STEADY, undefined, undefined, {
        plateaus: [
          { connections: 0, layers: layersOf(0, 0, 0) },
          { connections: 1000, layers: layersOf(40, 30, 10) },
        ],
        afterBroadcasts: layersOf(40 + pagesMb, 30 + keptMb, 10 + mallocMb),
      });
    };
    const pages = ['workerPss', 'workerRss'];
    assert.deepEqual(grownBy(7, 0.1, 0.1), []);
    assert.deepEqual(grownBy(7, 4, 0.1), pages);
    assert.deepEqual(grownBy(7, 0.1, 4), pages);
    assert.deepEqual(grownBy(12.5, 0.1, 0.1), pages);
  });

  it('reports no memory growth of a JVM or Go, which keep garbage after a collection', () => {
    assert.deepEqual(growing(STEADY, 12.5, 40, { inspectors: GO }), []);
  });
});

/** Returns memory at rest: MB in V8's heap and outside it. The process has 60 MB more. */
function layers(heap: number, external: number, unreturned = 0) {
  const workerRss = (60 + heap + external + unreturned) * MB;
  return {
    ...{ workerKept: (heap + external) * MB, workerHeapUsed: heap * MB, workerExternal: external * MB },
    ...{ workerRss, systemUsed: 1000 * MB },
  };
}

const plateausOf = (...all: ReturnType<typeof layers>[]) =>
  all.map((one, index) => ({ connections: 100 * index, layers: one }));

describe('memory that connections take only later', () => {
  const FIGURES = ['workerRss', 'workerPss', 'workerHeapUsed', 'workerExternal'];
  const plateaus = plateausOf(layers(10, 1), layers(15, 6), layers(20, 11));
  const workers = (count: number) => Array(count).fill({ worker: 'w0' }) as Measurements['workersAtStart'];

  /** Layers after the broadcasts, and the figures that grow. */
  const CASES: [what: string, after: ReturnType<typeof layers> | undefined, figures: string[], changes?: object][] = [
    [
      'memory that connections take later is growth of the figures that contain it',
      layers(20.5, 28),
      ['workerRss', 'workerExternal'],
    ],
    [
      'memory that connections take later is heap growth, even if the process had free pages',
      layers(26, 11, -10),
      ['workerHeapUsed'],
    ],
    ['memory that connections take later is not reported if it is small beside their cost', layers(22, 12), []],
    ['memory that connections take later is not reported if broadcasts leave pages', layers(20, 11, 15), []],
    [
      'memory that connections take later is not reported below 1 MB a worker',
      layers(24.5, 11),
      [],
      { workersAtStart: workers(5) },
    ],
    [
      'memory that connections take later is unknown without forced collections',
      layers(20, 28),
      [],
      { control: false },
    ],
    ['memory that connections take later is unknown without broadcasts', undefined, []],
  ];
  for (const [what, afterBroadcasts, figures, changes] of CASES) {
    it(what, () => {
      const measured = { control: true, plateaus, afterBroadcasts, workersAtStart: workers(1), ...changes };
      assert.deepEqual(steppedFigures(measured, FIGURES), figures);
    });
  }
});

describe('the interval of doubtful memory per connection', () => {
  // The run has 200 connections with 100 KB each, 20 MB in total.
  const KB = 1024;
  const plateaus = plateausOf(layers(10, 0), layers(20, 0), layers(30, 0));
  const line = { slope: 100 * KB, low95: 95 * KB, high95: 105 * KB, r2: 1 };
  const spanned = (doubt: 'grows' | 'curved' | undefined, later: { busy?: number; gone?: number }) => {
    const [afterBroadcasts, afterDisconnect] = [later.busy, later.gone].map((mb) =>
      mb === undefined ? undefined : layers(mb, 0),
    );
    const { low95, high95 } = widenForDoubt(
      { ...line, ...(doubt && { doubt }) },
      { plateaus, afterBroadcasts, afterDisconnect, workersAtStart: [] },
      'workerHeapUsed',
    );
    return [low95, high95].map((bytes) => Math.round((bytes ?? 0) / KB));
  };
  const CASES: [what: string, interval: number[], expected: number[]][] = [
    [
      'the interval of unreliable memory includes memory after the broadcasts',
      spanned('grows', { busy: 40 }),
      [95, 154],
    ],
    [
      'the interval of unreliable memory includes memory freed at the disconnect',
      spanned('grows', { busy: 30, gone: 25 }),
      [26, 105],
    ],
    [
      'the interval of unreliable memory includes memory after broadcasts and memory freed at the disconnect',
      spanned('grows', { busy: 40, gone: 25 }),
      [26, 154],
    ],
    [
      'the interval of unreliable memory is that of its slope if nothing else is known',
      spanned('grows', {}),
      [95, 105],
    ],
    [
      'the interval of memory that follows a curve is not widened',
      spanned('curved', { busy: 40, gone: 25 }),
      [95, 105],
    ],
    ['the interval of reliable memory is that of its slope', spanned(undefined, { busy: 40, gone: 25 }), [95, 105]],
  ];
  for (const [what, interval, expected] of CASES) it(what, () => assert.deepEqual(interval, expected));
});

describe('worker memory', () => {
  const honest = {
    control: true,
    workersAtStart: [],
    plateaus: plateausOf(layers(10, 1), layers(30, 6), layers(50, 11)),
    afterBroadcasts: layers(51, 11),
    afterDisconnect: layers(11, 1, 40),
  };
  const small = {
    plateaus: plateausOf(layers(10, 1), layers(10.5, 1)),
    ...{ afterBroadcasts: layers(10.5, 1), afterDisconnect: layers(10.9, 1) },
  };
  const FEW = {
    plateaus: plateausOf(layers(10, 1), layers(11, 1), layers(12, 1)),
    ...{ afterBroadcasts: layers(12, 1, -7.5), afterDisconnect: layers(10, 1) },
  };
  const LATE = { afterBroadcasts: layers(50, 11, -20) };
  const CASES: [what: string, changes: object, doubt?: 'freed' | 'kept'][] = [
    ['follows the connections, whatever pages the process keeps', {}],
    ['follows the connections as far as it is known', { afterBroadcasts: undefined, afterDisconnect: undefined }],
    ['was freed while all connections stayed', { afterBroadcasts: layers(45, 1, 15) }, 'freed'],
    ['was freed by at most 10 %', { afterBroadcasts: layers(50, 6, 5) }],
    ['was freed outside the heap, as only the process shows', LATE, 'freed'],
    ['was not freed if only RSS fell, by pages of V8’s threads', FEW],
    ['was freed by Go after a collection, as only its pages show', { ...LATE, inspectors: GO }],
    ['was still in the heap after all disconnected', { afterDisconnect: layers(45, 1) }, 'kept'],
    ['was still outside the heap after all disconnected', { afterDisconnect: layers(10, 40) }, 'kept'],
    ['was kept to at most a half after all disconnected', { afterDisconnect: layers(34, 1) }],
    ['is not judged without forced collections', { control: false, afterDisconnect: layers(40, 1) }],
    ['is not judged if only a few megabytes are at stake', small],
  ];
  for (const [what, changes, doubt] of CASES) {
    it(`worker memory ${what}: ${doubt ? `unreliable (${doubt})` : 'reliable'}`, () =>
      assert.equal(heldMemoryDoubt({ ...honest, ...changes }), doubt));
  }
});
