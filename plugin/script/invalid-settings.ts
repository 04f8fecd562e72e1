import { formatProblems, type Problem } from '../../protocol/base/problems.ts';
import { CapacityError } from '../../protocol/codes/errors.ts';

/** Returns one error that lists all problems with their paths. */
export function invalidSettings(problems: Problem[]): CapacityError {
  const message = `the settings have mistakes\n${formatProblems(problems)}`;
  return new CapacityError('CONFIG_INVALID', message, 'correct the lines above');
}
