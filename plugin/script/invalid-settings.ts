import { formatProblems, type InputProblem } from '../../protocol/base/problems.ts';
import { CapacityError } from '../../protocol/codes/errors.ts';

/** Error with all problems of a script and their paths. */
export class InvalidSettings extends CapacityError {
  readonly problems: InputProblem[];

  constructor(problems: InputProblem[]) {
    super('CONFIG_INVALID', `the settings have mistakes\n${formatProblems(problems)}`, 'correct the lines above');
    this.problems = problems;
  }
}
