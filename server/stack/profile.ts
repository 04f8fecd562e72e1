/** Profiles of the bundled deployment: nginx, PM2 workers and Redis (`full`), or a single worker (`embedded`). */
import { findTool, searchDirs, TOOLS, type Tool } from './tools.ts';

export type Profile = 'full' | 'embedded';

/** Settings that only the full profile supports. */
interface Requirements {
  tls?: boolean | undefined;
  workers?: number | undefined;
  redisUrl?: string | undefined;
  redisNodes?: number | undefined;
  /** `CAPACITY_ADAPTER` */
  adapter?: string | undefined;
}

/** Returns `full` if a setting requires it; undefined if either profile will do. */
export function requiredProfile(settings: Requirements): 'full' | undefined {
  const { tls, workers = 1, redisUrl, redisNodes = 1, adapter = 'in-memory' } = settings;
  const isNeeded = tls || workers > 1 || redisUrl || redisNodes > 1 || adapter !== 'in-memory';
  return isNeeded ? 'full' : undefined;
}

/**
 * Chooses the profile that can be started on this machine.
 * @param wanted undefined for `full`, or `embedded` if a program is missing
 * @returns `missing`: programs whose absence caused `embedded`; empty otherwise
 */
export function chooseProfile(wanted: Profile | undefined, dirs = searchDirs()): { profile: Profile; missing: Tool[] } {
  const missing = wanted === undefined ? TOOLS.filter((tool) => findTool(tool, dirs) === undefined) : [];
  return { profile: wanted ?? (missing.length > 0 ? 'embedded' : 'full'), missing };
}

export function describeMissing(missing: readonly string[]): string {
  return `${missing.join(' and ')} ${missing.length > 1 ? 'are' : 'is'} not installed`;
}
