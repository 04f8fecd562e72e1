import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { steppedFigures } from '../../../plugin/result/memory/doubts.ts';
import { growingFigures } from '../../../plugin/result/memory/growth.ts';
import type { Measurements } from '../../../plugin/run/measurements/measurements.ts';
import type { LayerBytes } from '../../../plugin/run/measurements/memory.ts';
import type { SampleRow } from '../../../plugin/samplers/index.ts';
import { LAYERS } from '../../../plugin/samplers/layers/index.ts';

const MB = 1024 * 1024;
const STAGES = [
  { name: 'baseline', t: 0 },
  { name: 'ramp', t: 5 },
  { name: 'hold', t: 40 },
  { name: 'broadcasts', t: 50 },
  { name: 'drain', t: 60 },
  { name: 'disconnect', t: 65 },
];

/** Workers that cost `costMb` until the hold. @param mbAt idle memory above that, by seconds; @param leftMb of it after a collection */
function growing(mbAt: (seconds: number) => number, leftMb: number | undefined, costMb = 40) {
  const samples = Array.from({ length: 65 }, (_, t) => ({
    t,
    connections: 1000,
    worker: { rssBytes: (140 + mbAt(t - 40)) * MB, derivedPssBytes: (100 + mbAt(t - 40)) * MB },
  }));
  const layers = (mb: number) => ({ workerRss: (100 + mb) * MB, workerPss: (60 + mb) * MB, workerHeapUsed: mb * MB });
  const measured = {
    control: true,
    stages: STAGES,
    plateaus: [
      { connections: 0, layers: layers(0) },
      { connections: 1000, layers: layers(costMb) },
    ],
    afterBroadcasts: leftMb === undefined ? undefined : layers(costMb + leftMb),
  };
  return [...growingFigures(measured, { layers: LAYERS, samples: samples as unknown as SampleRow[] })];
}

describe('memory that grows at unchanged connections', () => {
  it('is a leak where a collection does not take it back', () => {
    // 0.5 MB a second: 20 MB of the 40 until the hold, and 12.5 after it.
    assert.deepEqual(
      growing((seconds) => 0.5 * seconds, 12.5),
      ['workerPss', 'workerRss'],
    );
  });

  it('is noise of the process where it is little', () => {
    assert.deepEqual(
      growing((seconds) => 0.1 * seconds, 0.9, 0.5),
      [],
    );
  });

  it('is garbage where a collection does', () => {
    assert.deepEqual(
      growing((seconds) => 3 * seconds, 1),
      [],
    );
  });

  it('is nothing where it is little beside what the connections cost', () => {
    // 4 MB of 40.
    assert.deepEqual(
      growing((seconds) => 0.1 * seconds, 2.5),
      [],
    );
  });

  it('is not seen where idle memory goes up and down', () => {
    assert.deepEqual(
      growing((seconds) => 3 * (seconds % 3), 12.5),
      [],
    );
  });

  it('is not known without broadcasts, which end with a collection', () => {
    assert.deepEqual(
      growing((seconds) => 0.5 * seconds, undefined),
      [],
    );
  });
});

describe('memory that connections take only later', () => {
  const WORKERS = [{ worker: 'w0' }] as Measurements['workersAtStart'];
  const layers = (heap: number, external: number, unneeded = 0) => ({
    workerHeapUsed: heap * MB,
    workerExternal: external * MB,
    workerRss: (60 + heap + external + unneeded) * MB,
    systemUsed: 1000 * MB,
  });
  const plateaus = [layers(10, 1), layers(15, 6), layers(20, 11)].map((one, index) => ({
    connections: 100 * index,
    layers: one,
  }));
  const stepped = (afterBroadcasts: LayerBytes | undefined, workersAtStart = WORKERS, control = true) =>
    steppedFigures({ control, plateaus, afterBroadcasts, workersAtStart }, [
      'workerRss',
      'workerPss',
      'workerHeapUsed',
      'workerExternal',
    ]);

  it('is growth of the figures that it is in', () => {
    assert.deepEqual(stepped(layers(20.5, 28)), ['workerRss', 'workerExternal']);
    assert.deepEqual(stepped(layers(26, 11, -10)), ['workerHeapUsed'], 'of which the process had pages');
  });

  it('is none where it is little beside what connections cost, or pages that broadcasts leave', () => {
    assert.deepEqual(stepped(layers(22, 12)), []);
    assert.deepEqual(stepped(layers(20, 11, 15)), []);
    assert.deepEqual(stepped(layers(24.5, 11), Array(5).fill(WORKERS[0])), [], 'less than 1 MB each');
  });

  it('is not known where nobody collects the garbage, or there were no broadcasts', () => {
    assert.deepEqual(stepped(layers(20, 28), WORKERS, false), []);
    assert.deepEqual(stepped(undefined), []);
  });
});
