/**
 * Refuses scripts that are too large or too deeply nested, have the wrong shape, or could change prototypes of objects.
 */
import { z } from 'zod';
import { parseWithSchema } from '../../protocol/base/problems.ts';
import { findSizeProblem } from '../../protocol/base/readable-size.ts';
import { InvalidSettings } from './invalid-settings.ts';
import type { Script } from './script.ts';

/** Key that would replace an object's prototype if it were assigned. */
const RESERVED = '__proto__';

/** Schema of the parts of a script that other code reads before it validates them. */
const shape = z.looseObject({
  config: z.looseObject({ processor: z.union([z.string(), z.looseObject({})]).optional() }).optional(),
  scenarios: z.array(z.looseObject({})).optional(),
});

/**
 * Checks size, depth, names and shape of a script. Must be called before any other code reads the script.
 * @throws CapacityError CONFIG_INVALID with the first problem of size, depth or names; otherwise with all problems of
 * shape
 */
export function requireBounds(script: Script): void {
  // The rows of CSV files in `payload` are not checked, because there can be very many.
  const problem = findSizeProblem({ ...script, config: { ...script.config, payload: undefined } }, RESERVED);
  const problems = problem ? [problem] : [];
  if (!problem) parseWithSchema(shape, script, [], problems);
  if (problems.length > 0) throw new InvalidSettings(problems);
}
