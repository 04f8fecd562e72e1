/** Profiles of the bundled deployment. `full`: nginx, PM2 workers and Redis. `embedded`: a single worker. */
import { findTool, STACK_TOOLS, type StackTool, toolSearchDirs } from './tools.ts';

export type StackProfile = 'full' | 'embedded';

/** Settings that only the profile `full` supports. */
interface Requirements {
  tls?: boolean | undefined;
  workers?: number | undefined;
  redisUrl?: string | undefined;
  redisNodes?: number | undefined;
  /** `CAPACITY_ADAPTER` */
  adapter?: string | undefined;
}

/** Returns `full` if a setting requires it; undefined if both profiles are possible. */
export function requiredProfile(settings: Requirements): 'full' | undefined {
  const { tls, workers = 1, redisUrl, redisNodes = 1, adapter = 'in-memory' } = settings;
  const isNeeded = tls || workers > 1 || redisUrl || redisNodes > 1 || adapter !== 'in-memory';
  return isNeeded ? 'full' : undefined;
}

/**
 * Chooses a profile that can be started on this machine.
 * @param wanted profile to use; if undefined, `full`, or `embedded` if a program is missing
 * @returns the profile, and `missing`: programs whose absence caused `embedded`
 */
export function chooseProfile(
  wanted: StackProfile | undefined,
  dirs = toolSearchDirs(),
): { profile: StackProfile; missing: StackTool[] } {
  const missing = wanted === undefined ? STACK_TOOLS.filter((tool) => findTool(tool, dirs) === undefined) : [];
  return { profile: wanted ?? (missing.length > 0 ? 'embedded' : 'full'), missing };
}

export function describeMissingTools(missing: readonly string[]): string {
  return `${missing.join(' and ')} ${missing.length > 1 ? 'are' : 'is'} not installed`;
}
