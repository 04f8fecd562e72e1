/** Finds Artillery's files, for the commands that run or read a scenario. The others do not need Artillery. */
import { createRequire } from 'node:module';
import { CapacityError } from '../../protocol/errors.ts';

/**
 * @param specifier `artillery/…`
 * @returns the path of that file in the Artillery installed beside the plugin
 * @throws CapacityError NOT_INSTALLED
 */
export function resolveArtillery(specifier: string): string {
  try {
    return createRequire(import.meta.url).resolve(specifier);
  } catch (cause) {
    throw new CapacityError(
      'NOT_INSTALLED',
      'artillery is not installed beside artillery-plugin-socketio-capacity.',
      'npm install artillery',
      { cause },
    );
  }
}
