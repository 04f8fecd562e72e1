import { CapacityError } from '../../protocol/errors.ts';
import { formatProblems, type Problem } from '../../protocol/problems.ts';

/** @returns one error with all problems, each with its place */
export function invalidSettings(problems: Problem[]): CapacityError {
  const message = `the settings have mistakes\n${formatProblems(problems)}`;
  return new CapacityError('CONFIG_INVALID', message, 'correct the lines above');
}
