/** Reasons that doubt the memory of a run. */
import { describe } from 'node:test';
import { type Change, testCases } from '../../helpers/verdict.ts';

/** Connections that cost three times as much at the end as at the beginning. */
const bendMemory: Change = ({ memory }) => {
  for (const layer of ['workerPss', 'workerRss']) {
    for (const plateau of memory.plateaus) plateau[layer] = 1e8 + plateau.connections * (5000 + plateau.connections);
    Object.assign(memory.perConnectionBytes[layer] ?? {}, { doubt: 'curved' });
  }
};

const bendLayer =
  (layer: string, scale: number): Change =>
  ({ memory }) => {
    for (const plateau of memory.plateaus)
      plateau[layer] = 1e8 + scale * plateau.connections * (5000 + plateau.connections);
    const slope = scale * 15_000;
    memory.perConnectionBytes[layer] = {
      slope,
      low95: slope / 2,
      high95: 2 * slope,
      r2: 1,
      naive: slope,
      doubt: 'curved',
    };
  };

/** What a connection costs in all. */
const costing =
  (bytes: number, more: Change): Change =>
  (r, f) => [Object.assign(r.memory.perConnection ?? {}, { bytes }), more(r, f)];

const doubted =
  (doubt: string): Change =>
  ({ memory }) =>
    Object.assign(memory.perConnectionBytes.workerPss ?? {}, { doubt });

const plateausAt =
  (...numbers: number[]): Change =>
  (_, measured) => {
    measured.plateaus = numbers.map((connections) => ({ connections, layers: {} }));
  };

describe('memory', () => {
  testCases([
    ['that grew', doubted('grows'), 'MEMORY_GROWS', 'workerPss'],
    ['that is no line', bendMemory, 'MEMORY_NOT_LINEAR', 'workerRss at rest', '67 %'],
    ['of nginx alone that is no line', bendLayer('nginxPss', 1), 'MEMORY_NOT_LINEAR', 'nginxPss at rest', '67 %'],
    ['of nginx that is no line, and hardly any', bendLayer('nginxPss', 0.01)],
    ['of nginx that is no line, of costs that are many times as high', costing(1e6, bendLayer('nginxPss', 1))],
    ['of nginx that is no line, by less than pages bend it', costing(1, bendLayer('nginxPss', 0.05))],
    ['of the generator that is no line', bendLayer('fleetPss', 1)],
    ['whose pages bend where the quoted figure does not', doubted('curved')],
    ['whose slope is only wide', doubted('wide')],
    [
      'that is no line in service',
      (r, f) => {
        bendMemory(r, f);
        const { plateaus, perConnectionBytes } = r.memory;
        Object.assign(r.memory, {
          inService: { plateaus, peakBytes: {}, perConnectionBytes: structuredClone(perConnectionBytes) },
        });
        for (const slope of Object.values(perConnectionBytes)) Object.assign(slope, { doubt: null });
      },
      ...(['MEMORY_NOT_LINEAR', 'workerPss in service', 'more', '100 %'] as const),
    ],
    [
      'of which the last connections take less',
      (r, f) => {
        bendMemory(r, f);
        for (const plateau of r.memory.plateaus)
          plateau.workerRss = 1e8 + plateau.connections * (15_000 - plateau.connections);
      },
      ...(['MEMORY_NOT_LINEAR', 'less'] as const),
    ],
    [
      'at two, of a run over time',
      (r, f) => [plateausAt(0, 10)(r, f), Object.assign(f, { overTime: { collected: true } })],
    ],
    [
      'at two, before a planned fault',
      (r, f) => [plateausAt(0, 10)(r, f), Object.assign(f, { fault: { restarted: [] } })],
    ],
    ['at three numbers of connections', plateausAt(0, 10, 20)],
    ['at two', plateausAt(0, 10, 10), 'TOO_FEW_PLATEAUS', 0, 10],
    [
      'that one plateau lacks',
      ({ memory }) => delete memory.plateaus.at(-1)?.workerRss,
      ...(['READINGS_MISSING', 'workerRss', '1 of 5'] as const),
    ],
    [
      'that one plateau lacks in service, with the reason',
      ({ memory }) => {
        const plateaus = memory.plateaus.map((one, index) => ({ ...one, ...(index > 0 && { workerHeap: 5 }) }));
        Object.assign(memory, {
          inService: { plateaus, peakBytes: {}, perConnectionBytes: {} },
          absent: { ...memory.absent, workerHeap: 'HTTP 503' },
        });
      },
      ...(['READINGS_MISSING', 'workerHeap', '1 of 5', 'HTTP 503'] as const),
    ],
    [
      'of what workers have started, which one plateau lacks',
      ({ memory }) => {
        for (const plateau of memory.plateaus.slice(1)) plateau.workerChildrenPss = 5;
      },
    ],
    ['of nginx that one plateau lacks', ({ memory }) => delete memory.plateaus.at(-1)?.nginxPss],
    [
      'that one plateau lacks, because nothing was collected',
      ({ memory }, f) => [delete memory.plateaus.at(-1)?.workerRss, f.uncollected.push('workerRss')],
    ],
  ]);
});
