import assert from 'node:assert/strict';
import { it } from 'node:test';
import { exitCodeOfOutcome, worstExitCode } from '../../../protocol/codes/exit-codes.ts';
import { assertEach } from '../../helpers/columns.ts';

const VERDICTS = ['VALID', 'SUSPECT', 'INVALID'] as const;
const OUTCOMES = ['PASSED', 'FAILED', 'UNKNOWN'] as const;

it('a run without a result never has exit code 0', () => {
  assertEach(['refused', 'stopped', 'failed'] as const, exitCodeOfOutcome, [2, 130, 4]);
});

it('verdict and outcome decide the exit code, and only a VALID run that passed has 0', () => {
  const codes = VERDICTS.map((verdict) => OUTCOMES.map((outcome) => exitCodeOfOutcome({ verdict, outcome })));
  assert.deepEqual(codes, [
    [0, 1, 4],
    [3, 1, 4],
    [4, 4, 4],
  ]);
});

it('several runs exit with the worst of their exit codes', () => {
  assert.equal(worstExitCode([0, 3, 0]), 3);
  assert.equal(worstExitCode([3, 1]), 1, 'a missed threshold goes before SUSPECT');
  assert.equal(worstExitCode([1, 4, 3]), 4);
  assert.equal(worstExitCode([4, 2]), 2, 'nothing was measured at all');
  assert.equal(worstExitCode([2, 11, 4]), 11, 'a crash');
  assert.equal(worstExitCode([]), 2, 'no run was made');
});
