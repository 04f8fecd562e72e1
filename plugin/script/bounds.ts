/** A script that would take all memory or time, or rename what every object inherits, is refused like other mistakes. */
import { boundProblems } from '../../protocol/bounds.ts';
import { invalidSettings } from './invalid-settings.ts';
import type { Script } from './script.ts';

/** Assigned, it would replace what the object inherits. */
const RESERVED = '__proto__';

/**
 * To be called before anything else walks over a script.
 * @throws CapacityError CONFIG_INVALID with at most one problem of size or depth, and every reserved name
 */
export function requireBounds(script: Script): void {
  // Artillery puts the rows of CSV files there.
  const problems = boundProblems({ ...script, config: { ...script.config, payload: undefined } }, RESERVED);
  if (problems.length > 0) throw invalidSettings(problems);
}
