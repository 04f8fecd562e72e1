import assert from 'node:assert/strict';
import { test } from 'node:test';
import { computeCapacity, seedTheoreticalMax } from '../../../report/capacity.ts';
import { perfectResult } from '../../helpers/results.ts';

const GIB = 1024 ** 3;

test("the published report's rule", () => {
  assert.equal(seedTheoreticalMax(10_000, GIB), 20_000);
  // The published 5k report: 286 MB.
  assert.equal(seedTheoreticalMax(5000, 286 * 1024 * 1024), 35_804);
  assert.equal(seedTheoreticalMax(0, GIB), null);
  assert.equal(seedTheoreticalMax(10, 0), null);
});

test('what fits into the budget in service, without an interval, and the lowest wall first', () => {
  const capacity = computeCapacity(perfectResult(), 2 * GIB);
  const { memoryLimited, limits, lowest } = capacity;
  assert.ok(memoryLimited);
  // 110 MB at no connections; 15,000 bytes each at rest, and 15 MB more in service at 5,000.
  const expected = (2 * GIB - 110 * 1024 * 1024) / 18_140;
  assert.equal(memoryLimited.basis, 'inService');
  assert.ok(Math.abs(memoryLimited.connections - expected) / expected < 0.03, `${memoryLimited.connections}`);
  assert.deepEqual([memoryLimited.low95, memoryLimited.high95], [null, null]);
  assert.deepEqual(limits.map(({ name }) => name).toSorted(), [
    'machineMemory',
    'memoryBudget',
    'workerFileDescriptors',
  ]);
  assert.deepEqual(limits[0], { name: 'workerFileDescriptors', max: 40_000 });
  assert.equal(lowest, 'workerFileDescriptors');
});

test('of a remote deployment only the memory is known', () => {
  const remote = perfectResult();
  remote.run.profile = 'remote';
  assert.deepEqual(
    computeCapacity(remote, GIB).limits.map(({ name }) => name),
    ['memoryBudget'],
  );
});

test('without plateaus nothing is claimed', () => {
  const result = perfectResult();
  result.run.profile = 'remote';
  result.memory = { ...result.memory, plateaus: [], perConnectionBytes: {}, peakBytes: {} };
  assert.deepEqual(computeCapacity(result, GIB), {
    seedTheoreticalMax: null,
    memoryLimited: null,
    limits: [],
    lowest: null,
  });
});
