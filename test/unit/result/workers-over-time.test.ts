import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { workersOverTime } from '../../../plugin/result/workers-over-time.ts';
import { measurements } from '../../helpers/measurements.ts';

const of = (pid: number) => ({ pid, t: [0, 1], rssBytes: [1, 2], cpuPercent: [null, 5] });
const process = { t: [0, 1], rssBytes: [1, 2], cpuPercent: [null, 5] };

describe('workers over time', () => {
  it('have their processes and their event loops by name; a restarted one has both of its processes', () => {
    const measured = measurements({
      workersAtStart: [
        { worker: 'w0', pid: 10, instance: 'a' },
        { worker: 'w1', pid: 11, instance: 'b' },
      ],
      workersAtEnd: [
        { worker: 'w0', pid: 10, instance: 'a' },
        { worker: 'w1', pid: 12, instance: 'c' },
      ],
      eventLoops: [{ worker: 'w0', seconds: [1], delayP99Ms: [2], delayMaxMs: [3] }],
    });
    assert.deepEqual(workersOverTime(measured, { workers: () => [of(10), of(11), of(12), of(13)] }), [
      { worker: 'process 13', process, eventLoop: null },
      { worker: 'w0', process, eventLoop: { t: [1], delayP99Ms: [2], delayMaxMs: [3] } },
      { worker: 'w1', process, eventLoop: null },
      { worker: 'w1, process 12', process, eventLoop: null },
    ]);
  });

  it('on other machines have what they tell by themselves', () => {
    const eventLoops = [{ worker: 'w0', seconds: [1], delayP99Ms: [2], delayMaxMs: [3] }];
    const [worker, ...others] = workersOverTime(measurements({ eventLoops }), { workers: () => [] });
    assert.deepEqual([worker?.worker, worker?.process, others], ['w0', null, []]);
  });
});
