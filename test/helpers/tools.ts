/** Programs that tests use where they are installed. */
import { execFileSync } from 'node:child_process';

/** @returns the path of a program; undefined if it is not installed */
export function findTool(name: string): string | undefined {
  try {
    return execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();
  } catch {
    return undefined;
  }
}

/** @returns why tests that need these programs are skipped; false if they are all installed */
export function missingTools(...names: string[]): string | false {
  const missing = names.filter((name) => !findTool(name));
  return missing.length > 0 && `not installed: ${missing.join(', ')}`;
}
