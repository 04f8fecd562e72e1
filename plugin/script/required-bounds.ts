/** Refuses scripts that are too large or too deep, that could change object prototypes, or that have the wrong shape. */
import { z } from 'zod';
import { check } from '../../protocol/base/problems.ts';
import { boundProblem } from '../../protocol/base/readable-size.ts';
import { InvalidSettings } from './invalid-settings.ts';
import type { Script } from './script.ts';

/** Assigning to this key would replace an object's prototype. */
const RESERVED = '__proto__';

/** The parts that other code walks through before their own schemas validate them. */
const shape = z.looseObject({
  config: z.looseObject({ processor: z.union([z.string(), z.looseObject({})]).optional() }).optional(),
  scenarios: z.array(z.looseObject({})).optional(),
});

/**
 * Must be called before any other code walks through a script.
 * @throws CapacityError CONFIG_INVALID with the first problem of size, depth or name, else with all problems of shape
 */
export function requireBounds(script: Script): void {
  // `payload` is not checked: Artillery puts all rows of CSV files there.
  const problem = boundProblem({ ...script, config: { ...script.config, payload: undefined } }, RESERVED);
  const problems = problem ? [problem] : [];
  if (!problem) check(shape, script, [], problems);
  if (problems.length > 0) throw new InvalidSettings(problems);
}
