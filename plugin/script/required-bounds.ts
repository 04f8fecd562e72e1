/** A script that would take all memory or time, rename what every object inherits, or is none, is refused like other mistakes. */
import { z } from 'zod';
import { check } from '../../protocol/base/problems.ts';
import { boundProblem } from '../../protocol/base/readable-size.ts';
import { invalidSettings } from './invalid-settings.ts';
import type { Script } from './script.ts';

/** Assigned, it would replace what the object inherits. */
const RESERVED = '__proto__';

/** What is walked over before its own schema reads it. */
const shape = z.looseObject({
  config: z.looseObject({ processor: z.union([z.string(), z.looseObject({})]).optional() }).optional(),
  scenarios: z.array(z.looseObject({})).optional(),
});

/**
 * To be called before anything else walks over a script.
 * @throws CapacityError CONFIG_INVALID with the first problem of size, depth or name; without one, with what has another shape
 */
export function requireBounds(script: Script): void {
  // Artillery puts the rows of CSV files there.
  const problem = boundProblem({ ...script, config: { ...script.config, payload: undefined } }, RESERVED);
  const problems = problem ? [problem] : [];
  if (!problem) check(shape, script, [], problems);
  if (problems.length > 0) throw invalidSettings(problems);
}
