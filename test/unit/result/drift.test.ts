import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { computeDrift, type DriftPoint, overTimeFigures, withResolution } from '../../../plugin/result/memory/drift.ts';
import type { Measurements } from '../../../plugin/run/measurements/measurements.ts';
import type { MomentReading } from '../../../plugin/run/measurements/memory-measured.ts';
import { BoundedSeries } from '../../../protocol/base/bounded-series.ts';
import type { MemoryDrift } from '../../../protocol/result/memory-schema.ts';
import { normals } from '../../helpers/random-source.ts';
import { drift } from '../../helpers/waves.ts';

const MB = 1024 ** 2;
const SIMULATIONS = 60;

interface Server {
  perConnection?: number;
  perSecond?: number;
  /** Size in MB of a cache that is filled within the first three waves. */
  cacheMb?: number;
  /** Fragmentation in MB after one of the waves. */
  fragmentedMb?: number;
  /** Bytes per connection that are freed only after the next wave. */
  lateBytes?: number;
  /** Standard deviation in MB: of each reading, and of the growth from wave to wave. */
  readingMb: number;
  stayingMb: number;
}

/** Waves of scenarios/waves.yml: number of connections, and seconds. */
const UNEVEN = [...'LSSLLSSL'].map((size): [number, number] => (size === 'L' ? [10_000, 55] : [2500, 100]));
const EVEN = UNEVEN.map((): [number, number] => [10_000, 60]);

function readings(normal: () => number, server: Server, waves: [number, number][]): DriftPoint[] {
  const {
    perConnection = 0,
    perSecond = 0,
    cacheMb = 0,
    fragmentedMb = 0,
    lateBytes = 0,
    readingMb,
    stayingMb,
  } = server;
  let [closed, t, stayed] = [0, 0, 0];
  const fragments = 1 + (Math.floor(Math.abs(normal()) * 1000) % (waves.length - 1));
  return waves.map(([size, seconds], index) => {
    closed += size;
    t += seconds;
    stayed += stayingMb * normal() + (index === fragments ? fragmentedMb : 0);
    const cached = cacheMb * Math.min(1, (index + 1) / 3);
    const bytes =
      2e8 + perConnection * closed + perSecond * t + lateBytes * size + (cached + stayed + readingMb * normal()) * MB;
    return { t, gone: closed, bytes };
  });
}

/** @returns percentages over all simulations: intervals that contain the true value, and confirmed causes */
function simulated(server: Server, waves = UNEVEN) {
  const normal = normals(11);
  const drifts = Array.from({ length: SIMULATIONS }, () => computeDrift(readings(normal, server, waves), 'waves'));
  const percent = (found: typeof drifts) => (100 * found.length) / SIMULATIONS;
  const contains = (one: { low95: number | null; high95: number | null } | null | undefined, truth = 0) =>
    (one?.low95 ?? Infinity) <= truth && truth <= (one?.high95 ?? -Infinity);
  return {
    perConnection: percent(drifts.filter((one) => contains(one, server.perConnection))),
    perSecond: percent(drifts.filter((one) => contains(one?.perSecond, server.perSecond))),
    namesConnections: percent(drifts.filter((one) => one?.leaks && one.perSecond && (one.low95 ?? 0) > 0)),
    namesTime: percent(drifts.filter((one) => one?.leaks && (one.perSecond?.low95 ?? 0) > 0)),
    untold: percent(drifts.filter((one) => one?.leaks && !one.perSecond)),
  };
}

const NOISES: Record<string, Pick<Server, 'readingMb' | 'stayingMb'>> = {
  'of each reading': { readingMb: 0.3, stayingMb: 0 },
  'that stays': { readingMb: 0.02, stayingMb: 0.5 },
};
const SERVERS: Record<string, Omit<Server, 'readingMb' | 'stayingMb'>> = {
  'no leak': {},
  'a leak per connection': { perConnection: 6000 },
  'a leak in time': { perSecond: 100_000 },
  'both leaks': { perConnection: 6000, perSecond: 100_000 },
  'a cache that fills and stops': { cacheMb: 40 },
  fragmentation: { fragmentedMb: 8 },
};

describe('waves of different sizes and pauses', () => {
  for (const [noise, deviations] of Object.entries(NOISES)) {
    for (const [name, server] of Object.entries(SERVERS)) {
      it(`memory over waves shows the true drift for ${name}, with noise ${noise}`, () => {
        const { perConnection = 0, perSecond = 0 } = server;
        const found = simulated({ ...server, ...deviations });
        const shownText = JSON.stringify(found);
        // The minimum is 95 %, minus the deviation of 60 simulations.
        assert.ok(found.perConnection >= 90 && found.perSecond >= 90, shownText);
        const named = (percent: number, truth: number) => (truth > 0 ? percent >= 90 : percent <= 7);
        assert.ok(named(found.namesConnections, perConnection) && named(found.namesTime, perSecond), shownText);
      });
    }
  }
});

it('memory that is freed only after the reading of its wave seldom counts as a leak', () => {
  const { namesConnections, namesTime, untold } = simulated({ lateBytes: 400, readingMb: 0.02, stayingMb: 0.5 });
  assert.ok(namesConnections <= 12 && namesTime + untold === 0, `${namesConnections} %`);
});

describe('waves of one size at equal intervals', () => {
  for (const server of [{ perConnection: 6000 }, { perSecond: 100_000 }]) {
    it(`waves of one size at equal intervals show a leak, but not whether it is ${Object.keys(server)}`, () => {
      const { untold } = simulated({ ...server, readingMb: 0.3, stayingMb: 0.1 }, EVEN);
      assert.ok(untold >= 95, `${untold} %`);
    });
  }

  it('pauses between waves that differ by less than a second show no growth per second', () => {
    const normal = normals(3);
    const drifts = Array.from({ length: SIMULATIONS }, () => {
      const waves = EVEN.map(([size, seconds]): [number, number] => [size, seconds + 0.3 * normal()]);
      return computeDrift(readings(normal, { perSecond: 100_000, readingMb: 0.3, stayingMb: 0.1 }, waves), 'waves');
    });
    const wrong = drifts.filter((one) => one?.perSecond && (one.low95 ?? 0) > 0);
    assert.ok(wrong.length <= 0.07 * SIMULATIONS, `${wrong.length}`);
  });
});

it('reports the time from which memory no longer grows', () => {
  const normal = normals(5);
  const found = computeDrift(
    readings(normal, { cacheMb: 400, readingMb: 0.01, stayingMb: 0.01 }, [...UNEVEN, ...UNEVEN]),
    'waves',
  );
  assert.ok(found && !found.leaks && (found.sinceSeconds === null || found.sinceSeconds >= 210), JSON.stringify(found));
});

const KB = 1024;

describe('a leak is ruled out only with a bound below the cost of one connection', () => {
  const noLeak = (noLeakAbove: number) => ({ ...drift(0, 1), leaks: false, noLeakAbove });
  const tell = (connections: number, bytes: number) => ({ connections, bytes });
  for (const [what, given, perStep, leaks, conclusiveRun] of [
    ['a bound of 64 B', noLeak(64), 5000, false, null],
    ['a bound that equals the cost', noLeak(12 * KB), 40, false, null],
    ['a bound of 81.6 KB in waves of 40', noLeak(81.6 * KB), 40, null, tell(280, (81.6 * KB * 40) / 280)],
    ['a bound of 12 MB in waves of 7', noLeak(12_000 * KB), 7, null, tell(7000, 12 * KB)],
    ['a leak, however wide its interval', drift(100 * KB, 90 * KB), 40, true, null],
    ['two readings', { ...drift(0, 1), leaks: null, noLeakAbove: null }, 40, null, null],
  ] as const) {
    it(`memory drift with ${what}: ${leaks === null ? 'undecided' : leaks ? 'a leak' : 'no leak'}`, () => {
      const found = withResolution(given, 12 * KB, perStep);
      assert.deepEqual([found.leaks, found.conclusiveRun], [leaks, conclusiveRun]);
    });
  }

  it('an uncollected process proves no leak until its memory exceeds all garbage', () => {
    const after = (size: number, collected: boolean) => {
      const readings = new BoundedSeries<MomentReading>(100, (older) => older);
      for (let wave = 1; wave <= 6; wave++) {
        const closed = wave * size;
        const layers = { workerRss: 9e7 + closed * 18_600, redisPss: 5e6 + closed * 4200 };
        readings.add({ t: wave * 15, connections: 0, gone: closed, layers, counts: {} });
      }
      const overTime = { kind: 'waves' as const, collected, peaks: [], readings };
      return overTimeFigures({ overTime: overTime as never, uncollected: [] })?.drift ?? {};
    };
    const leaks = (drift: Record<string, MemoryDrift>) => [drift.workerRss?.leaks, drift.redisPss?.leaks];
    assert.deepEqual(leaks(after(80, false)), [null, true]);
    assert.deepEqual(leaks(after(80, true)), [true, true]);
    const { connections = 0 } = after(80, false).workerRss?.conclusiveRun ?? {};
    assert.deepEqual(leaks(after(connections, false)), [true, true], `${connections}`);
  });

  /**
   * Returns the figures of six waves of `size` connections. Each connection takes `costBytes` of the heap, and the heap
   * varies by 30 KB after the waves.
   */
  function figuresOf(size: number, costBytes: number, inspectors?: Measurements['inspectors']) {
    const closedAfter = (wave: number) => size * (wave + 1);
    const moments = Array.from({ length: 6 }, (_, wave) => ({
      peak: { t: wave * 60, connections: size, gone: size * wave, layers: { workerHeapUsed: 2e7 + size * costBytes } },
      left: {
        ...{ t: wave * 60 + 30, connections: 0, gone: closedAfter(wave) },
        layers: {
          workerHeapUsed: 2e7 + (wave % 2) * 30_000,
          workerRss: 8e7 + 50_000 * closedAfter(wave),
          redisUsedMemory: 1e6 + 5000 * closedAfter(wave),
        },
      },
    }));
    const series = new BoundedSeries<(typeof moments)[number]['left']>(100, (older) => older);
    for (const { left } of moments) series.add(left);
    const overTime = {
      collected: true,
      kind: 'waves' as const,
      peaks: moments.map(({ peak }) => peak),
      readings: series,
    };
    return overTimeFigures({ overTime: overTime as never, uncollected: [], inspectors })?.drift ?? {};
  }

  it('a leak is judged against the cost of a connection in that run', () => {
    // The smallest heap growth that counts is 512 KB, which is 2.1 KB for each of 250 connections.
    const [large, small] = [figuresOf(50, 40_000), figuresOf(50, 1500)];
    assert.equal(large.workerHeapUsed?.leaks, false);
    assert.equal(small.workerHeapUsed?.leaks, null);
    assert.ok((small.workerHeapUsed?.conclusiveRun?.bytes ?? 0) <= 1500, JSON.stringify(small));
    assert.ok(small.redisUsedMemory?.leaks, 'a leak of 5,000 bytes is a leak in both');
  });

  it('free pages of a JVM or Go are not a leak', () => {
    for (const runtime of ['v8', 'jvm', 'go'] as const) {
      const { workerRss } = figuresOf(100, 40_000, { size: 1, longestPauseMs: 1, runtime });
      assert.equal(workerRss?.leaks === true, runtime === 'v8');
    }
  });

  it('waves of the suggested size show a leak of the promised size', () => {
    const { connections = 0 } = figuresOf(5, 40_000).workerHeapUsed?.conclusiveRun ?? {};
    assert.ok(connections > 5, `${connections}`);
    assert.equal(figuresOf(connections, 40_000).workerHeapUsed?.leaks, false);
  });
});

describe('leak, bound and interval', () => {
  it('the leak verdict, its bound and its interval agree for any readings', () => {
    const normal = normals(7);
    for (let run = 0; run < 120; run++) {
      const [perConnection, perSecond, readingMb, stayingMb] = [3000, 50_000, 0.5, 0.5].map((maximum) =>
        Math.max(0, maximum * normal()),
      ) as [number, number, number, number];
      const server = { perConnection, perSecond, readingMb, stayingMb };
      const found = computeDrift(readings(normal, server, run % 2 ? UNEVEN : UNEVEN.slice(0, 4)), 'waves');
      const { leaks, low95, high95, noLeakAbove, perSecond: inTime } = found as MemoryDrift;
      const valuesText = JSON.stringify(found);
      if (leaks) assert.ok((low95 ?? 0) > 0 || (inTime?.low95 ?? 0) > 0, valuesText);
      assert.ok((noLeakAbove ?? 0) >= (high95 ?? Infinity), valuesText);
      assert.ok(!inTime || inTime.noLeakAbove >= inTime.high95, valuesText);
    }
  });

  it('the interval of a leak has no width for a constant figure', () => {
    const still = [0, 100, 200, 250].map((gone, index) => ({ t: index * 10, gone, bytes: 4_055_820 }));
    const { low95, high95, perSecond } = computeDrift(still, 'waves') as MemoryDrift;
    assert.deepEqual([low95, high95, perSecond?.low95, perSecond?.high95], [0, 0, 0, 0]);
  });

  /** Readings of real servers after each wave. */
  const WAVES = [8, 18, 28, 38].map((t, index) => ({ t, gone: [100, 200, 250, 350][index] as number }));
  for (const [server, layer, bytes, leaks] of [
    [
      'server that keeps a Redis key for each connection',
      'redisUsedMemory',
      [1_252_520, 1_466_344, 1_572_744, 1_787_592],
      true,
    ],
    [
      'server that keeps 2 KB of heap for each connection',
      'workerKept',
      [14_046_433, 14_321_524, 14_447_033, 14_703_036],
      true,
    ],
    ['server that keeps nothing', 'workerKept', [13_825_825, 13_890_841, 13_913_041, 13_964_996], false],
    ['server without child processes', 'workerChildrenPss', [0, 0, 0, 0], undefined],
  ] as const) {
    it(`memory after waves of a ${server}: ${leaks ? 'a leak' : leaks === false ? 'no leak' : 'no figure'}`, () => {
      const series = new BoundedSeries<MomentReading>(100, (older) => older);
      for (const [index, moment] of WAVES.entries())
        series.add({ ...moment, connections: 0, layers: { [layer]: bytes[index] as number }, counts: {} });
      const overTime = { collected: true, kind: 'waves', peaks: [], readings: series };
      assert.equal(overTimeFigures({ overTime: overTime as never, uncollected: [] })?.drift[layer]?.leaks, leaks);
    });
  }
});
