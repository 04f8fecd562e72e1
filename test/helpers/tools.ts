/** Programs that tests use where they are installed. */
import { findTool } from '../../server/stack/tools.ts';

/** @returns why tests that need these programs are skipped; false if they are all installed */
export function missingTools(...names: string[]): string | false {
  const missing = names.filter((name) => !findTool(name));
  return missing.length > 0 && `not installed: ${missing.join(', ')}`;
}
