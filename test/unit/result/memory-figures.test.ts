import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { doubtMiscountedSlopes, memoryFigures } from '../../../plugin/result/memory/assemble-memory.ts';
import type { Measurements } from '../../../plugin/run/measurements/measurements.ts';
import { Observations, type ObservedFacts, type ObservedKind } from '../../../plugin/run/measurements/observations.ts';
import { LAYERS, type LayerSample, type SampleRow } from '../../../plugin/samplers/index.ts';
import { computeCapacity } from '../../../report/figures/capacity.ts';
import { memoryPerConnection } from '../../../report/figures/per-connection.ts';
import { column } from '../../helpers/columns.ts';
import { measurements, snapshot } from '../../helpers/measurements.ts';
import { perfectResult } from '../../helpers/results.ts';

const plateaus = [0, 100, 200].map((connections) => ({
  connections,
  layers: {
    workerPss: 1e6 + connections * 5000,
    systemUsed: 5e6,
    ...(connections < 200 && { nginxPss: 1 }),
  },
}));

type MemoryInterval = Record<'slope' | 'low95' | 'high95', number>;

/** @param samples layers in each second */
function figures(changes: Partial<Measurements> = {}, ...samples: Record<string, LayerSample>[]) {
  const rows = samples.map((layers, t): SampleRow => Object.assign({ t, connections: 200 }, layers));
  return memoryFigures(measurements({ plateaus, peakConnections: 200, ...changes }), { layers: LAYERS, samples: rows });
}

it('memory per connection is the slope through the plateaus, for layers measured at all plateaus', () => {
  const { perConnectionBytes } = figures({}, { worker: { pssBytes: 3e6 } });
  assert.deepEqual(Object.keys(perConnectionBytes), ['workerPss', 'systemUsed']);
  const { slope, r2, naive } = perConnectionBytes.workerPss ?? {};
  assert.deepEqual([Math.round((slope ?? 0) * 1e6) / 1e6, r2, naive], [5000, 1, (3e6 - 1e6) / 200]);
  assert.equal(figures({ peakConnections: 0 }).perConnectionBytes.workerPss?.naive, 0, 'without connections');
  assert.deepEqual(figures({ plateaus: plateaus.slice(0, 1) }).perConnectionBytes, {}, 'of a baseline alone');
});

it('memory per connection leaves out compiled code, and its interval includes it', () => {
  // Readings of a server with a login by event, in Node 24, at 20 to 100 connections.
  const kept = [15_010_318, 15_270_626, 15_540_846, 15_778_082, 16_009_238];
  const code = [15_152, 41_200, 77_904, 79_072, 79_072];
  const readAt = (isCodeKnown: boolean) =>
    kept.map((workerKept, index) => ({
      connections: 20 * (index + 1),
      layers: { workerKept, ...(isCodeKnown && { workerCode: code[index] as number }) },
    }));
  const [without, all] = [true, false].map((isCodeKnown) => {
    const { workerKept: slope } = figures({ plateaus: readAt(isCodeKnown) }).perConnectionBytes;
    return { slope: slope?.slope ?? 0, low95: slope?.low95 ?? 0, high95: slope?.high95 ?? 0 };
  }) as [MemoryInterval, MemoryInterval];
  assert.ok(Math.abs(without.slope - 11_700) < 100, `${without.slope}`);
  assert.ok(all.slope > 12_400, `${all.slope}`);
  assert.ok(without.low95 <= all.low95 && without.high95 >= all.high95);
});

it('the memory peak of a layer is the highest of its plateaus, its time series, and after broadcasts', () => {
  const afterBroadcasts = { workerPss: 2.1e6, systemUsed: 5.5e6 };
  const first = { worker: { pssBytes: 2.5e6 }, system: { usedBytes: 6e6 } };
  const second = { worker: { rssBytes: 3e6 }, system: {} };
  const { peakBytes } = figures({ afterBroadcasts });
  assert.deepEqual(peakBytes, { workerPss: 2.1e6, systemUsed: 5.5e6, nginxPss: 1 });
  const ofSeries = { workerPss: 2.5e6, workerRss: 3e6, systemUsed: 6e6, nginxPss: 1 };
  assert.deepEqual(figures({ afterBroadcasts }, first, second).peakBytes, ofSeries);
});

it('the memory peak of the workers excludes samples of machines without workers', () => {
  const samples = { system: { usedBytes: 9e9 }, redisServer: { usedMemoryBytes: 5e6 } };
  const peaks = (sharedHost: boolean) => {
    const { systemUsed, redisUsedMemory } = figures({ sharedHost }, samples).peakBytes;
    return [systemUsed, redisUsedMemory];
  };
  assert.deepEqual(peaks(true), [9e9, 5e6]);
  assert.deepEqual(peaks(false), [5e6, 5e6]);
});

it('compares memory after the disconnect with the baseline only for layers that both readings have', () => {
  const { residualBytes } = figures({ afterDisconnect: { workerPss: 1.5e6, systemUsed: 4e6, other: 1 } });
  assert.deepEqual(residualBytes, { workerPss: 0.5e6, systemUsed: -1e6 });
});

const BUDGET_BYTES = 2 * 1024 ** 3;
const worker = { worker: 'w0', pid: 10, instance: 'a' };

const noting = <K extends ObservedKind>(kind: K, fact: ObservedFacts[K]) => {
  const observations = new Observations();
  observations.note(kind, fact);
  return { observations };
};

const elsewhere = { snapshots: [snapshot({ perWorker: { w1: 3 } })] };
for (const [what, changes, follows] of [
  ['differ from the counts of the workers', noting('cpuStill', { when: { at: 'left' }, connections: 1 }), false],
  ['are on workers whose memory is unknown', elsewhere, false],
  ['open or close during a memory plateau', noting('plateauMoved', { from: 2, to: 1 }), true],
] as const) {
  it(`memory per connection is ${follows ? 'reliable' : 'unreliable'} if connections ${what}`, () => {
    const result = perfectResult();
    const { memory } = result;
    result.memory = doubtMiscountedSlopes(memory, measurements({ workersAtStart: [worker], ...changes }));
    const cost = memoryPerConnection(result);
    const doubts = column(cost?.without, 'doubt');
    assert.deepEqual([cost?.parts.length === 0, doubts], follows ? [false, []] : [true, ['miscounted', 'miscounted']]);
    assert.equal(computeCapacity(result, BUDGET_BYTES).memoryLimited === null, !follows);
  });
}

const MB = 1024 * 1024;
const STAGES = Object.entries({ baseline: 0, ramp: 1, hold: 10, broadcasts: 20, drain: 30, disconnect: 35 });

/** Each connection uses 10 KB at rest, and as much garbage before a collection. */
const busy = [0, 1000, 2000, 3000, 4000].map((connections) => ({
  connections,
  layers: { workerPss: 100 * MB + connections * 10_240 },
  inService: { workerPss: 100 * MB + connections * 20_480 },
}));

/** @param pssMb PSS of the workers, by second */
function inSeconds(pssMb: Record<number, object>) {
  const samples = Object.entries(pssMb).map(([t, worker]) => ({ t: Number(t), connections: 4000, worker }));
  const stages = STAGES.map(([name, t]) => ({ name, t }));
  const measured = measurements({ plateaus: busy, stages, peakConnections: 4000 });
  return memoryFigures(measured, { layers: LAYERS, samples: samples as unknown as SampleRow[] });
}

describe('memory in service', () => {
  it('memory in service has the slope before the collections, beside the slope at rest', () => {
    const { perConnectionBytes, inService } = inSeconds({});
    assert.equal(Math.round(perConnectionBytes.workerPss?.slope ?? 0), 10_240);
    const { slope, low95, high95 } = inService?.perConnectionBytes.workerPss ?? {};
    assert.deepEqual([Math.round(slope ?? 0), low95, high95], [20_480, null, null]);
    assert.deepEqual(inService?.plateaus[1], { connections: 1000, workerPss: 100 * MB + 20_480_000 });
  });

  it('memory in service is a curve only if it bends by more than the garbage of a process', () => {
    const doubtOf = (maxConnections: number) => {
      const plateaus = [0, 0.25, 0.5, 0.75, 1].map((share) => ({
        ...{ connections: share * maxConnections, layers: { workerPss: 100 * MB + share * maxConnections * 10_240 } },
        inService: {
          workerPss: 100 * MB + maxConnections * 50_000 * (2 * share - share ** 2) + share * maxConnections * 10_240,
        },
      }));
      const measured = measurements({ plateaus, stages: [], peakConnections: maxConnections });
      return memoryFigures(measured, { layers: LAYERS, samples: [] }).inService?.perConnectionBytes.workerPss?.doubt;
    };
    assert.deepEqual([40, 40_000].map(doubtOf), [undefined, 'curved']);
  });

  it('the peak of memory in service comes only from samples of the hold, the broadcasts and the drain', () => {
    const peak = (t: number) => inSeconds({ [t]: { pssBytes: 900 * MB } }).inService?.peakBytes.workerPss;
    assert.deepEqual([5, 10, 25, 34, 35].map(peak), [undefined, 900 * MB, 900 * MB, 900 * MB, undefined]);
  });
});

it('the peak of memory in service is the highest sample, whether derived from RSS or read', () => {
  const derived = inSeconds({ 25: { derivedPssBytes: 900 * MB }, 26: { pssBytes: 800 * MB } });
  const read = inSeconds({ 25: { derivedPssBytes: 800 * MB }, 26: { pssBytes: 900 * MB } });
  assert.deepEqual([derived.peakBytes.workerPss, read.peakBytes.workerPss], [900 * MB, 900 * MB]);
});

it('capacity is never derived from a memory slope whose interval is too wide', () => {
  const result = perfectResult();
  const withDoubt = (layer: string) => {
    const slopes = { ...result.memory.perConnectionBytes };
    slopes[layer] = { ...(slopes[layer] as (typeof slopes)[string]), low95: 1 };
    const capacity = computeCapacity({ ...result, memory: { ...result.memory, perConnectionBytes: slopes } }, 900 * MB);
    return [capacity.memoryLimited === null, ...capacity.limits.map(({ name }) => name).toSorted()];
  };
  assert.deepEqual(withDoubt('workerRss'), [true, 'machineMemory', 'workerFileDescriptors']);
  assert.deepEqual(withDoubt('systemUsed'), [false, 'workerFileDescriptors']);
});
