import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { doubtMiscounted } from '../../../plugin/result/memory/miscounted.ts';
import { computeCapacity } from '../../../report/figures/capacity.ts';
import { perConnectionOf } from '../../../report/figures/per-connection.ts';
import { measurements, snapshot } from '../../helpers/measurements.ts';
import { perfectResult } from '../../helpers/results.ts';

const BUDGET_BYTES = 2 * 1024 ** 3;
const worker = { worker: 'w0', pid: 10, instance: 'a' };

function measuredWith(...warnings: ('WORKERS_DISAGREE' | 'PLATEAU_MOVED')[]) {
  return measurements({ workersAtStart: [worker], warnings: warnings.map((code) => ({ code, message: '' })) });
}

function assertNothingFollows(measured: ReturnType<typeof measurements>): void {
  const result = perfectResult();
  assert.ok(computeCapacity(result, BUDGET_BYTES).memoryLimited);
  result.memory = doubtMiscounted(result.memory, measured);
  const cost = perConnectionOf(result);
  assert.deepEqual(
    [cost?.bytes, cost?.parts, cost?.without.map(({ doubt }) => doubt)],
    [null, [], ['miscounted', 'miscounted']],
  );
  assert.equal(computeCapacity(result, BUDGET_BYTES).memoryLimited, null);
  assert.equal(result.memory.sum, null);
}

describe('memory per connection', () => {
  it('does not follow from connections that the workers count differently', () => {
    assertNothingFollows(measuredWith('WORKERS_DISAGREE'));
  });

  it('does not follow where connections are on workers whose memory nobody reads', () => {
    assertNothingFollows(measurements({ workersAtStart: [worker], snapshots: [snapshot({ perWorker: { w1: 3 } })] }));
  });

  it('follows in spite of other reasons', () => {
    const { memory } = perfectResult();
    assert.equal(doubtMiscounted(memory, measuredWith('PLATEAU_MOVED')), memory);
  });
});
