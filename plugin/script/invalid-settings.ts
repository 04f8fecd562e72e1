import { CapacityError } from '../../protocol/errors.ts';
import { formatProblems, type Problem } from '../../protocol/problems.ts';

const FIX = 'correct the lines above';

/** @returns one error with all problems, each with its place */
export function invalidSettings(
  code: 'CONFIG_INVALID' | 'SCRIPT',
  message: string,
  problems: Problem[],
): CapacityError {
  return new CapacityError(code, `${message}\n${formatProblems(problems)}`, FIX);
}
