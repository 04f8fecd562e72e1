/** Which server was measured, as its workers describe it. */
import type { WorkerStats } from '../../protocol/events.ts';
import type { Result } from '../../protocol/result/result.ts';
import { type ServerDescription, serverSchema } from '../../protocol/result/server.ts';
import { ownValue } from '../../protocol/sum-counts.ts';

/** @returns what all workers say, and where they differ each of their values; null if one of them says nothing */
export function serverDescription(workers: Pick<WorkerStats, 'server'>[]): Result['environment']['server'] {
  const parsed = workers.map(({ server }) => serverSchema.safeParse(server));
  const descriptions = parsed.flatMap(({ data }) => data ?? []);
  const [first] = descriptions;
  if (!first || descriptions.length < workers.length) return null;
  const kinds = new Set(descriptions.map(({ kind }) => kind));
  return {
    // Two kinds of workers are nobody's default.
    kind: kinds.size === 1 ? first.kind : 'own',
    tunings: together(descriptions.map(({ tunings }) => tunings)),
    options: together(descriptions.map(({ options }) => options)),
  };
}

function together(all: ServerDescription['options'][]): ServerDescription['options'] {
  const names = new Set(all.flatMap((one) => Object.keys(one)));
  const values = (name: string) => [...new Set(all.map((one) => ownValue(one, name) ?? 'not set'))];
  return Object.fromEntries([...names].map((name) => [name, values(name).join(' or ')]));
}
