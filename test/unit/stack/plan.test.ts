import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
  connectionsAtFullNginxWorker,
  planStack,
  readStackMachine,
  type StackMachine,
  type StackPlanRequest,
} from '../../../server/stack/plan.ts';

const MACHINE: StackMachine = { cores: 2, openFilesMax: 20_000, manyLoopbackAddresses: true };

function plan(connections: number, machine: Partial<StackMachine> = {}, request: Partial<StackPlanRequest> = {}) {
  return planStack({ connections, profile: 'full', workers: undefined, ...request }, { ...MACHINE, ...machine });
}

suite('plan', () => {
  for (const connections of [1, 1_000, 10_000, 32_000, 100_000, 1_000_000]) {
    test(`a stack planned for ${connections} connections stays below every limit`, () => {
      const { workers, nginx } = plan(connections);
      const perWorker = connections / workers;
      assert.ok(perWorker < MACHINE.openFilesMax);
      assert.ok(perWorker / nginx.sourceAddresses <= 8000);
      assert.ok((2 * connections) / nginx.workers < nginx.connectionsPerWorker);
      assert.ok(nginx.connectionsPerWorker < nginx.openFilesPerWorker);
      assert.ok(nginx.openFilesPerWorker <= MACHINE.openFilesMax);
    });
  }

  test('the plan of a stack allows an nginx worker more than its equal share of connections', () => {
    assert.equal(connectionsAtFullNginxWorker(1000, 1), 1000);
    assert.equal(connectionsAtFullNginxWorker(1000, 4), 3638);
  });

  test('source ports limit the connections to a worker if there is only one loopback address', () => {
    const { workers, nginx } = plan(100_000, { openFilesMax: 1_048_576, manyLoopbackAddresses: false });
    assert.equal(nginx.sourceAddresses, 1);
    assert.ok(100_000 / workers < 16_384);
  });

  test('the plan of a stack depends on cores, target and user settings, rather than on a high file limit', () => {
    assert.deepEqual([plan(1000).workers, plan(1000).nginx.workers], [2, 2]);
    assert.equal(plan(1000, {}, { workers: 5 }).workers, 5);
    assert.ok(plan(1000, { openFilesMax: 1_048_576 }).nginx.connectionsPerWorker < 5000);
  });

  test('an embedded stack has one worker, and is refused if that is too few', () => {
    assert.equal(plan(1000, {}, { profile: 'embedded', workers: 5 }).workers, 1);
    assert.throws(() => plan(20_000, {}, { profile: 'embedded' }), { code: 'LIMIT_TOO_LOW' });
  });

  test('the plan of a stack uses the cores and the limit of open files of this machine', () => {
    const { cores, openFilesMax } = readStackMachine();
    for (const value of [cores, openFilesMax]) assert.ok(Number.isInteger(value) && value > 0);
  });
});
