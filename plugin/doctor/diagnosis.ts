/** Whether a run fits, how far it could go, and what stops it first. */
import { CapacityError } from '../../protocol/errors.ts';
import { integer } from '../../report/format.ts';
import type { Settings } from '../script/settings.ts';
import { findLimits, type Limit } from './limits.ts';
import { readSituation, type Situation } from './situation.ts';
import { findWarnings, type Warning } from './warnings.ts';

export interface Diagnosis {
  /** Asked for. */
  connections: number;
  fits: boolean;
  /** Highest number of connections that all limits let through; null without any limit. */
  highest: number | null;
  /** Name of the lowest limit. */
  bottleneck: string | null;
  /** The lowest first. */
  limits: Limit[];
  warnings: Warning[];
  /** Programs that the run would start and that are not installed. */
  missing: string[];
}

export function diagnose(situation: Situation): Diagnosis {
  const { connections } = situation.load;
  const { nginx, redis } = situation.deployment.starts;
  const programs = [...(nginx ? ['nginx' as const] : []), ...(redis ? ['redis-server' as const] : [])];
  const limits = findLimits(situation);
  const lowest = limits.find(({ max }) => max !== null);
  const highest = lowest?.max ?? null;
  return {
    connections,
    fits: highest === null || highest >= connections,
    highest,
    bottleneck: lowest?.name ?? null,
    limits,
    warnings: findWarnings(situation),
    missing: programs.filter((program) => situation.machine.missing.includes(program)),
  };
}

/**
 * For a run, before anything is started. Says what does not stop it; that a program is missing, the stack says itself.
 * @throws CapacityError TARGET_TOO_LARGE with the highest number that fits, the bottleneck, and the lines that raise it
 */
export async function requireFit(settings: Settings, log: (text: string) => void): Promise<void> {
  const { connections, fits, highest, limits, warnings } = diagnose(await readSituation(settings));
  if (fits) {
    for (const { message, raise } of warnings) log(`Doctor: ${message}.\n  Better: ${raise}`);
    return;
  }
  const exceeded = limits.filter(({ max }) => max !== null && max < connections);
  const named = exceeded.map(({ name, max }) => `${name} (${integer(max ?? 0)})`);
  throw new CapacityError(
    'TARGET_TOO_LARGE',
    `${integer(connections)} connections do not fit: ${integer(highest ?? 0)} at most here, for ${named.join(', then ')}`,
    exceeded.map(({ raise }) => raise).join('\n       '),
  );
}
