/** Whether a run can begin and fits, the highest number of connections, and the lowest limit. */
import { CapacityError } from '../../protocol/errors.ts';
import { openFileLimits } from '../../protocol/machine/open-files.ts';
import { integer, spaced } from '../../report/text/format.ts';
import type { Settings } from '../script/settings.ts';
import { findLimits, type Limit } from './limits.ts';
import type { Program } from './machine.ts';
import { readSituation, type Situation } from './situation.ts';
import { findWarnings, type Warning } from './warnings.ts';

export interface Diagnosis {
  /** Connections that the scenario asks for. */
  connections: number;
  fits: boolean;
  /** Highest number of connections that all limits allow; null without any limit. */
  highest: number | null;
  /** Name of the lowest limit. */
  bottleneck: string | null;
  /** Lowest first. */
  limits: Limit[];
  warnings: Warning[];
  /** Programs that the run would start but that are not installed. */
  missing: Program[];
}

export function diagnose(situation: Situation): Diagnosis {
  const { connections } = situation.load;
  const { nginx, redis, pm2 } = situation.deployment.starts;
  const starts: Record<Program, boolean> = { nginx, 'redis-server': redis > 0, pm2 };
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
    missing: situation.machine.missing.filter((program) => starts[program]),
  };
}

/**
 * For a run, before anything is started. Logs the warnings; a missing program is reported when the stack starts.
 * @throws CapacityError LIMIT_TOO_LOW with the highest number that fits, the exceeded limits, and how to raise them
 */
export async function requireFit(settings: Settings, log: (text: string) => void): Promise<void> {
  const situation = await readSituation(settings);
  const { connections, fits, highest, limits, warnings } = diagnose(situation);
  if (fits) {
    for (const { message, raise } of warnings) log(`Doctor: ${message}.\n  fix: ${raise}`);
    return;
  }
  const exceeded = limits.filter(({ max }) => max !== null && max < connections);
  const named = exceeded.map(({ name, max }) => `${spaced(name)} (${integer(max ?? 0)})`);
  throw new CapacityError(
    'LIMIT_TOO_LOW',
    `${tooMany(connections, situation)}: at most ${integer(highest ?? 0)} are possible, limited by ${named.join(', ')}`,
    exceeded.map(({ raise }) => raise).join('\n       '),
  );
}

/** @returns `32,000 connections do not fit`; of a server that is not ours, only the generator's side is known */
export function tooMany(connections: number, { deployment: { kind } }: Pick<Situation, 'deployment'>): string {
  const count = `${integer(connections)} connections`;
  return kind === 'external' ? `this machine cannot generate ${count}` : `${count} do not fit`;
}

/** With fewer, Artillery, the fleet's processes and the stack do not start. */
const MIN_OPEN_FILES = 512;

/** @throws CapacityError LIMIT_TOO_LOW */
export function requireOpenFiles(): void {
  const { hard } = openFileLimits();
  if (hard >= MIN_OPEN_FILES) return;
  throw new CapacityError(
    'LIMIT_TOO_LOW',
    `a process can open only ${hard} files here, but a run needs at least ${MIN_OPEN_FILES}`,
    'raise the limit: ulimit -n 20000',
  );
}
