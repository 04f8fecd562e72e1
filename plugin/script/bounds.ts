/** A few lines of YAML can stand for billions of values (aliases of aliases), or rename what every object inherits. */
import { formatPath, type Problem } from '../../protocol/problems.ts';
import { invalidSettings } from './invalid-settings.ts';
import type { Script } from './script.ts';

/** Far more than anybody writes; whatever reads a script to its end does so in well under a second. */
const MAX_VALUES = 1_000_000;
/** A hundred times what a flow needs, and far less than a call stack has. */
const MAX_DEPTH = 200;
/** Assigned, it would replace what the object inherits. */
const RESERVED = '__proto__';

/**
 * To be called before anything else walks over a script.
 * @param script aliases count as often as they are used
 * @throws CapacityError CONFIG_INVALID with at most one problem of size or depth, and every reserved name
 */
export function requireBounds(script: Script): void {
  const problems: Problem[] = [];
  let values = 0;
  const path: (string | number)[] = [];
  const refuse = (message: string) => {
    problems.push({ path: formatPath(path.slice(0, 5)), message });
    return false;
  };

  /** @returns false if nothing more is to be read */
  function read(value: unknown): boolean {
    if (++values > MAX_VALUES) return refuse(`more than ${MAX_VALUES} values, with each alias as often as it is used`);
    if (typeof value !== 'object' || value === null) return true;
    if (path.length >= MAX_DEPTH) return refuse(`nested more than ${MAX_DEPTH} levels deep`);
    const isList = Array.isArray(value);
    return Object.entries(value).every(([key, one]) => {
      path.push(isList ? Number(key) : key);
      if (key === RESERVED) refuse(`${RESERVED} cannot be a name`);
      const goesOn = read(one);
      path.pop();
      return goesOn;
    });
  }

  // Artillery puts the rows of CSV files there.
  read({ ...script, config: { ...script.config, payload: undefined } });
  if (problems.length > 0) throw invalidSettings(problems);
}
