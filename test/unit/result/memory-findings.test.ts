import { describe } from 'node:test';
import { newOverTime } from '../../../plugin/run/memory/measure-over-time.ts';
import { type Change, testCases } from '../../helpers/verdict.ts';

/** Makes connections cost three times as much at the end as at the start. */
const bendWorkers: Change = ({ memory }) => {
  for (const layer of ['workerPss', 'workerRss']) {
    for (const plateau of memory.plateaus) plateau[layer] = 1e8 + plateau.connections * (5000 + plateau.connections);
    Object.assign(memory.perConnectionBytes[layer] ?? {}, { doubt: 'curved' });
  }
};

/** Makes costs nearly cancel out, so that the average is small compared with the bend. */
const bendAroundNothing: Change = (r, f) => {
  bendWorkers(r, f);
  for (const plateau of r.memory.plateaus) plateau.workerRss = 1e8 + plateau.connections * (plateau.connections - 6000);
};

const bend =
  (layer: string, scale: number): Change =>
  ({ memory }) => {
    const slope = scale * 15_000;
    for (const plateau of memory.plateaus)
      plateau[layer] = 1e8 + scale * plateau.connections * (5000 + plateau.connections);
    const line = { slope, low95: slope / 2, high95: 2 * slope, r2: 1, naive: slope };
    memory.perConnectionBytes[layer] = { ...line, doubt: 'curved' };
  };

const bendInService: Change = (r, f) => {
  bendWorkers(r, f);
  const { plateaus, perConnectionBytes } = r.memory;
  r.memory.inService = { plateaus, peakBytes: {}, perConnectionBytes: structuredClone(perConnectionBytes) };
  for (const slope of Object.values(perConnectionBytes)) Object.assign(slope, { doubt: null });
};

/** Returns a run whose headline is the memory that the heap keeps. */
const ofRuntime =
  (runtime: 'jvm' | 'v8', change: Change): Change =>
  (r, f) => {
    change(r, f);
    r.memory.inspector = { processes: 1, longestPauseMs: 1, runtime };
    for (const part of r.memory.perConnection?.parts ?? []) if (part.title === 'workers') part.layer = 'workerKept';
  };

const bendDown: Change = (r, f) => {
  bendWorkers(r, f);
  for (const plateau of r.memory.plateaus)
    plateau.workerRss = 1e8 + plateau.connections * (15_000 - plateau.connections);
};

/** Returns a run with this total cost of a connection. */
const costing =
  (bytes: number, more: Change): Change =>
  (r, f) => [Object.assign(r.memory.perConnection ?? {}, { bytes }), more(r, f)];

const lackingAtFirst =
  (layer: string): Change =>
  ({ memory }) => {
    for (const plateau of memory.plateaus.slice(1)) plateau[layer] = 5;
  };

const doubted =
  (doubt: string): Change =>
  ({ memory }) =>
    Object.assign(memory.perConnectionBytes.workerPss ?? {}, { doubt });

/** Returns a run with these plateaus, and further stages if given. */
const plateausAt =
  (numbers: number[], more: object = {}): Change =>
  (_, measured) => {
    measured.plateaus = numbers.map((connections) => ({ connections, layers: {} }));
    Object.assign(measured, more);
  };

const lacking =
  (layer: string, ...uncollected: string[]): Change =>
  ({ memory }, measured) => {
    delete memory.plateaus.at(-1)?.[layer];
    measured.uncollected.push(...uncollected);
  };

const lackingInService: Change = ({ memory }) => {
  const plateaus = memory.plateaus.map((one, index) => ({ ...one, ...(index > 0 && { workerHeap: 5 }) }));
  memory.inService = { plateaus, peakBytes: {}, perConnectionBytes: {} };
  memory.absent = { ...memory.absent, workerHeap: 'HTTP 503' };
};

describe('memory', () => {
  testCases([
    ['growing', doubted('grows'), 'MEMORY_GROWS', 'workerPss'],
    ['memory not linear', bendWorkers, 'MEMORY_NOT_LINEAR', 'workerRss at rest', '67 %'],
    ['memory not linear by less than V8 keeps for itself', bend('workerRss', 0.01)],
    ['memory of a JVM, not linear in its pages', ofRuntime('jvm', bendWorkers)],
    ['memory of Node, not linear in pages that V8’s threads leave free', ofRuntime('v8', bendWorkers)],
    ['memory of nginx alone, not linear', bend('nginxPss', 1), 'MEMORY_NOT_LINEAR', 'nginxPss at rest', '67 %'],
    ['memory of nginx, not linear but tiny', bend('nginxPss', 0.01)],
    ['memory of nginx, not linear but tiny beside other costs', costing(1e6, bend('nginxPss', 1))],
    ['memory of nginx, not linear by less than a page', costing(1, bend('nginxPss', 0.05))],
    ['memory of the generator, not linear', bend('fleetPss', 1)],
    ['memory with curved pages and a linear headline', doubted('curved')],
    ['memory with a slope whose interval is wide, without curvature', doubted('wide')],
    ['memory not linear in service', bendInService, 'MEMORY_NOT_LINEAR', 'workerPss in service', 'more', '100 %'],
    ['memory with cheaper last connections', bendDown, 'MEMORY_NOT_LINEAR', 'less'],
    ['memory with an average near zero', bendAroundNothing, 'MEMORY_NOT_LINEAR', 'more', 'KB'],
    [
      'memory at two numbers of connections, over time',
      plateausAt([0, 10], { overTime: newOverTime({ collect: true }, true) }),
    ],
    ['memory at two numbers of connections, before a planned fault', plateausAt([0, 10], { fault: { restarted: [] } })],
    ['memory at three numbers of connections', plateausAt([0, 10, 20])],
    ['memory at two numbers of connections', plateausAt([0, 10, 10]), 'PLATEAUS_UNUSABLE', 0, 10],
    ['memory missing at one plateau', lacking('workerRss'), 'READINGS_MISSING', 'Workers RSS', '1 of 5'],
    [
      'memory missing at one plateau in service',
      lackingInService,
      'READINGS_MISSING',
      'workerHeap',
      '1 of 5',
      'HTTP 503',
    ],
    ['memory of child processes, missing at one plateau', lackingAtFirst('workerChildrenPss')],
    ['memory of malloc, missing at one plateau', lackingAtFirst('workerMalloc')],
    ['memory of nginx, missing at one plateau', lacking('nginxPss')],
    ['memory missing at one plateau without a collection', lacking('workerRss', 'workerRss')],
  ]);
});
