import { formatProblems, type Problem } from '../../protocol/base/problems.ts';
import { CapacityError } from '../../protocol/codes/errors.ts';

/** @returns one error with all problems, each with its place */
export function invalidSettings(problems: Problem[]): CapacityError {
  const message = `the settings have mistakes\n${formatProblems(problems)}`;
  return new CapacityError('CONFIG_INVALID', message, 'correct the lines above');
}
