import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { memoryFigures } from '../../../plugin/result/memory/memory.ts';
import type { SampleRow } from '../../../plugin/samplers/index.ts';
import { LAYERS } from '../../../plugin/samplers/layers/index.ts';
import { computeCapacity } from '../../../report/figures/capacity.ts';
import { measurements } from '../../helpers/measurements.ts';
import { perfectResult } from '../../helpers/results.ts';

const MB = 1024 * 1024;
const STAGES = [
  { name: 'baseline', t: 0 },
  { name: 'ramp', t: 1 },
  { name: 'hold', t: 10 },
  { name: 'broadcasts', t: 20 },
  { name: 'drain', t: 30 },
  { name: 'disconnect', t: 35 },
];

/** 10 KB at rest for each connection, and garbage of the same size on top before each collection. */
const plateaus = [0, 1000, 2000, 3000, 4000].map((connections) => ({
  connections,
  layers: { workerPss: 100 * MB + connections * 10_240 },
  inService: { workerPss: 100 * MB + connections * 20_480 },
}));

/** @param pssMb of the workers, by second */
function figures(pssMb: Record<number, object>) {
  const samples = Object.entries(pssMb).map(([t, worker]) => ({ t: Number(t), connections: 4000, worker }));
  const measured = measurements({ plateaus, stages: STAGES, peakConnections: 4000 });
  return memoryFigures(measured, { layers: LAYERS, samples: samples as unknown as SampleRow[] });
}

describe('memory in service', () => {
  it('has the slope of what was read before the collections, beside that of memory at rest', () => {
    const { perConnectionBytes, inService } = figures({});
    assert.equal(Math.round(perConnectionBytes.workerPss?.slope ?? 0), 10_240);
    assert.equal(Math.round(inService?.perConnectionBytes.workerPss?.slope ?? 0), 20_480);
    assert.deepEqual(
      [inService?.perConnectionBytes.workerPss?.low95, inService?.perConnectionBytes.workerPss?.high95],
      [null, null],
      'the peak is one observation',
    );
    assert.deepEqual(inService?.plateaus[1], { connections: 1000, workerPss: 100 * MB + 20_480_000 });
  });

  it('has the peak of hold, broadcasts and drain, and of no other stage', () => {
    const peak = (t: number) => figures({ [t]: { pssBytes: 900 * MB } }).inService?.peakBytes.workerPss;
    assert.deepEqual([5, 10, 25, 34, 35].map(peak), [undefined, 900 * MB, 900 * MB, 900 * MB, undefined]);
  });

  it('is what the capacity comes from: half of what memory at rest would promise', () => {
    const result = { ...perfectResult(), memory: figures({}) };
    assert.equal(computeCapacity(result, 900 * MB).memoryLimited?.connections, 40_960);
    // 200 MB at the peak, and 60.9 MB less at rest: 25,000 bytes and more for each.
    result.memory = figures({ 25: { pssBytes: 200 * MB } });
    assert.equal(computeCapacity(result, 900 * MB).memoryLimited?.connections, 32_000);
  });

  it('is absent where nobody read it, and then there is no capacity', () => {
    const measured = measurements({ plateaus: plateaus.map(({ connections, layers }) => ({ connections, layers })) });
    const memory = memoryFigures(measured, { layers: LAYERS, samples: [] });
    assert.equal(memory.inService, null);
    assert.equal(computeCapacity({ ...perfectResult(), memory }, 900 * MB).memoryLimited, null);
  });
});

it('a peak is the highest sample, derived from RSS or read', () => {
  const derived = figures({ 25: { derivedPssBytes: 900 * MB }, 26: { pssBytes: 800 * MB } });
  const read = figures({ 25: { derivedPssBytes: 800 * MB }, 26: { pssBytes: 900 * MB } });
  assert.deepEqual([derived.peakBytes.workerPss, read.peakBytes.workerPss], [900 * MB, 900 * MB]);
});

it('no capacity comes from a line that may not be quoted, nor from a machine that moved by itself', () => {
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
