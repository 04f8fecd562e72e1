import assert from 'node:assert/strict';
import { it } from 'node:test';
import { worstExitCode } from '../../../protocol/codes/exit-codes.ts';

it('several runs end with the worst of their exit codes', () => {
  assert.deepEqual([worstExitCode([]), worstExitCode([0, 3, 0])], [0, 3]);
  assert.equal(worstExitCode([3, 1]), 1, 'a missed threshold goes before SUSPECT');
  assert.equal(worstExitCode([1, 4, 3]), 4);
  assert.equal(worstExitCode([4, 2]), 2, 'nothing was measured at all');
  assert.equal(worstExitCode([2, 11, 4]), 11, 'a crash');
});
