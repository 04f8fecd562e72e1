/** What connections and messages cost in memory. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { memoryFigures } from '../../../plugin/result/memory/memory.ts';
import { LAYERS, type LayerSample, type SampleRow } from '../../../plugin/samplers/index.ts';
import { measurements } from '../../helpers/measurements.ts';

const plateaus = [0, 100, 200].map((connections) => ({
  connections,
  layers: {
    workerPss: 1e6 + connections * 5000,
    systemUsed: 5e6,
    ...(connections < 200 && { nginxPss: 1 }),
  },
}));

const row = (t: number, layers: Record<string, LayerSample>): SampleRow => Object.assign({ t, connections: 1 }, layers);
const sampled = (samples: SampleRow[] = []) => ({ layers: LAYERS, samples });

it('a layer that one plateau does not have is no line', () => {
  const { perConnectionBytes } = memoryFigures(measurements({ plateaus }), sampled());
  assert.deepEqual(Object.keys(perConnectionBytes), ['workerPss', 'systemUsed']);
});

it('peaks are the highest of plateaus, of after the broadcasts, and of the series where it has a figure', () => {
  const afterBroadcasts = { workerPss: 2.1e6, systemUsed: 5.5e6 };
  const series = [
    row(1, { worker: { pssBytes: 2.5e6 }, system: { usedBytes: 6e6 } }),
    row(2, { worker: { rssBytes: 3e6 }, system: {} }),
  ];
  const peak = (rows: SampleRow[]) =>
    memoryFigures(measurements({ plateaus, afterBroadcasts }), sampled(rows)).peakBytes;
  assert.deepEqual(peak([]), { workerPss: 2.1e6, systemUsed: 5.5e6, nginxPss: 1 });
  assert.deepEqual(peak(series), { workerPss: 2.5e6, workerRss: 3e6, systemUsed: 6e6, nginxPss: 1 });
});

it('what is left after the disconnect stands beside it', () => {
  const after = { workerPss: 1.5e6, systemUsed: 4e6 };
  const figures = memoryFigures(measurements({ plateaus, afterBroadcasts: after, afterDisconnect: after }), sampled());
  assert.deepEqual(figures.residualBytes, { workerPss: 0.5e6, systemUsed: -1e6 });
});

it('without connections there is no naive figure', () => {
  const { perConnectionBytes } = memoryFigures(measurements({ plateaus, peakConnections: 0 }), sampled());
  assert.equal(perConnectionBytes.workerPss?.naive, 0);
});
