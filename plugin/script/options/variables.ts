/** The environment variables that override a scenario. */
import { type Problem, problemsOf } from '../../../protocol/problems.ts';
import { type Environment, environmentSchema } from './plugin-options.ts';

/** @returns the variables that are right: a wrong one is one more problem, and hides none of the others */
export function readVariables(env: NodeJS.ProcessEnv, problems: Problem[]): Environment {
  const given = withoutEmpty(env);
  const { data, error } = environmentSchema.safeParse(given);
  if (data) return data;
  problems.push(...problemsOf(error, ['environment variable'], []));
  const wrong = error.issues.map(({ path }) => path[0]);
  return environmentSchema.parse(Object.fromEntries(Object.entries(given).filter(([name]) => !wrong.includes(name))));
}

/** `RATE= npx artillery …` means "not set". */
export function withoutEmpty(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
}
