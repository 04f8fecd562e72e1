/** What the bundled deployment consists of: nginx, PM2 workers and Redis, or one worker alone. */
import { findTool, searchDirs, TOOLS, type Tool } from './tools.ts';

export type Profile = 'full' | 'embedded';

/** Settings that only one of the profiles can obey. */
interface Requirements {
  tls?: boolean | undefined;
  workers?: number | undefined;
  redisUrl?: string | undefined;
  redisNodes?: number | undefined;
  /** `CAPACITY_ADAPTER` */
  adapter?: string | undefined;
}

/** @returns `full` if a setting needs it; undefined if both profiles would do */
export function requiredProfile(settings: Requirements): 'full' | undefined {
  const { tls, workers = 1, redisUrl, redisNodes = 1, adapter = 'in-memory' } = settings;
  const isNeeded = tls || workers > 1 || redisUrl || redisNodes > 1 || adapter !== 'in-memory';
  return isNeeded ? 'full' : undefined;
}

/**
 * Chooses what can be started on this machine.
 * @param wanted undefined: `full`, or `embedded` where a program for that is missing
 * @returns `missing`: programs whose absence decided; empty otherwise
 */
export function chooseProfile(wanted: Profile | undefined, dirs = searchDirs()): { profile: Profile; missing: Tool[] } {
  const missing = wanted === undefined ? TOOLS.filter((tool) => findTool(tool, dirs) === undefined) : [];
  return { profile: wanted ?? (missing.length > 0 ? 'embedded' : 'full'), missing };
}

/** @returns `nginx and redis-server are not installed` */
export function describeMissing(missing: readonly string[]): string {
  return `${missing.join(' and ')} ${missing.length > 1 ? 'are' : 'is'} not installed`;
}
