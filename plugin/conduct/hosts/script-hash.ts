/** Two hosts measure one load only if they read the same scenario with the same options. */
import { createHash } from 'node:crypto';
import type { Script } from '../../script/script.ts';
import type { Settings } from '../../script/settings.ts';

/** A parser's file is where the host has it. */
function withoutPlace(key: string, value: unknown): unknown {
  return key === 'parser' ? value !== undefined : value;
}

/** @param settings of the whole scenario @returns the same on all hosts, wherever its file and its results are */
export function scriptHash(settings: Settings, { scenarios }: Script): string {
  const { results: _, livePort: __, redisUrl: ___, control: ____, ...compared } = settings;
  return createHash('sha256').update(JSON.stringify({ compared, scenarios }, withoutPlace)).digest('hex').slice(0, 16);
}
