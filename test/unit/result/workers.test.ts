import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { serverDescription } from '../../../plugin/result/assemble-environment.ts';
import { workersOverTime } from '../../../plugin/result/assemble-workers.ts';
import type { ServerDescription } from '../../../protocol/result/server-schema.ts';
import { measurements } from '../../helpers/measurements.ts';

const TUNED: ServerDescription = {
  kind: 'tuned',
  tunings: { dropRequest: 'on' },
  options: { pingInterval: '25000' },
};

it('describes workers with equal settings as one server', () => {
  assert.deepEqual(serverDescription([{ server: TUNED }, { server: TUNED }]), TUNED);
});

it('lists the settings in which workers differ', () => {
  const other: ServerDescription = { kind: 'own', tunings: {}, options: { pingInterval: '10000' } };
  assert.deepEqual(serverDescription([{ server: TUNED }, { server: other }]), {
    kind: 'own',
    tunings: { dropRequest: 'on or not set' },
    options: { pingInterval: '25000 or 10000' },
  });
});

it("the server's description is unknown without a worker, or if a worker's is incomplete", () => {
  const wrong = { kind: 'fast' } as unknown as ServerDescription;
  for (const workers of [[], [{ server: TUNED }, { server: wrong }]]) {
    assert.equal(serverDescription(workers), null);
  }
});

const process = { t: [0, 1], rssBytes: [1, 2], cpuPercent: [null, 5] };
const of = (pid: number) => ({ pid, ...process });
const identity = (worker: string, pid: number) => ({ worker, pid, instance: `${pid}` });
const eventLoops = [{ worker: 'w0', seconds: [1], delayP99Ms: [2], delayMaxMs: [3] }];
const eventLoop = { t: [1], delayP99Ms: [2], delayMaxMs: [3] };

describe('workers over time', () => {
  it('workers over time have processes and event loops by name, and both processes after a restart', () => {
    const workersAtStart = [identity('w0', 10), identity('w1', 11)];
    const workersAtEnd = [identity('w0', 10), identity('w1', 12)];
    const measured = measurements({ workersAtStart, workersAtEnd, eventLoops });
    assert.deepEqual(workersOverTime(measured, { workers: () => [of(10), of(11), of(12), of(13)] }), [
      { worker: 'process 13', process, eventLoop: null },
      { worker: 'w0', process, eventLoop },
      { worker: 'w1', process, eventLoop: null },
      { worker: 'w1, process 12', process, eventLoop: null },
    ]);
  });

  it('workers on other machines have only self-reported figures over time', () => {
    const found = workersOverTime(measurements({ eventLoops }), { workers: () => [] });
    assert.deepEqual(found, [{ worker: 'w0', process: null, eventLoop }]);
  });
});
