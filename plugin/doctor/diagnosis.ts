/** Makes and prints a diagnosis before a run: missing programs, limits, warnings, and whether the load fits. */
import { openFileLimits } from '../../protocol/base/machine/open-files.ts';
import { CapacityError } from '../../protocol/codes/errors.ts';
import { decimals, integer, sentence, spaced, wrap } from '../../report/text/format.ts';
import { table } from '../../report/text/table.ts';
import { describeMissing } from '../../server/stack/profile.ts';
import type { Settings } from '../script/settings.ts';
import { findLimits, type Limit } from './check-limits.ts';
import { coresText, type Program } from './check-machine.ts';
import { readSituation, type Situation } from './situation.ts';
import { findWarnings, type Warning } from './warnings.ts';

export interface Diagnosis {
  /** Number of connections in the scenario. */
  connections: number;
  fits: boolean;
  /** Highest number of connections that all limits allow; null without limits. */
  highest: number | null;
  bottleneck: string | null;
  /** All limits, with the lowest limit first. */
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
 * Checks before a run that its load fits. Logs the warnings. Does not check for missing programs, which the start of
 * the stack reports.
 * @param hosts number of generator hosts, each with the same share as this host
 * @throws CapacityError LIMIT_TOO_LOW with the highest number that fits, the exceeded limits, and how to raise them
 */
export async function requireFit(settings: Settings, log: (text: string) => void, hosts = 1): Promise<void> {
  const situation = await readSituation(settings);
  const { connections, fits, highest, limits, warnings } = diagnose(situation);
  if (fits) {
    for (const { message, raise } of warnings) log(`Doctor: ${message}.\n  fix: ${raise}`);
    return;
  }
  const exceeded = limits.filter(({ max }) => max !== null && max < connections);
  const named = exceeded.map(({ name, max }) => `${spaced(name)} (${integer(max ?? 0)})`);
  const isGenerator = situation.deployment.kind === 'external' && highest;
  const enough = isGenerator ? `; ${integer(Math.ceil((connections * hosts) / highest))} such hosts would do` : '';
  throw new CapacityError(
    'LIMIT_TOO_LOW',
    `${tooMany(connections, situation)}: at most ${integer(highest ?? 0)} are possible, limited by ${named.join(', ')}${enough}`,
    exceeded.map(({ raise }) => raise).join('\n       '),
  );
}

/**
 * Returns a text such as `32,000 connections do not fit`. For an external server, the text is about the generator only.
 */
function tooMany(connections: number, { deployment: { kind } }: Pick<Situation, 'deployment'>): string {
  const count = `${integer(connections)} connections`;
  return kind === 'external' ? `this machine cannot generate ${count}` : `${count} do not fit`;
}

/** Minimum number of open files with which Artillery, the fleet processes and the stack can start. */
const MIN_OPEN_FILES = 512;

/**
 * Checks the limit of open files.
 * @throws CapacityError LIMIT_TOO_LOW
 */
export function requireOpenFiles(): void {
  const { hard } = openFileLimits();
  if (hard >= MIN_OPEN_FILES) return;
  throw new CapacityError(
    'LIMIT_TOO_LOW',
    `a process can open only ${hard} files on this machine, but a run needs at least ${MIN_OPEN_FILES}`,
    'raise the limit: ulimit -n 20000',
  );
}

const INDENT = '  ';
const SETUP = 'npm run setup';
const INSTALL: Record<Program, string> = { nginx: SETUP, 'redis-server': SETUP, pm2: 'npm install pm2' };

export function printDiagnosis(diagnosis: Diagnosis, situation: Situation, width: number): string {
  const { limits, warnings, bottleneck, missing } = diagnosis;
  const rows = limits.map(({ name, max, raise }) => [
    spaced(name),
    max === null ? 'no limit' : integer(max),
    name === bottleneck ? 'lowest' : '',
    raise ?? '',
  ]);
  const aligns: ('left' | 'right')[] = ['left', 'right', 'left', 'left'];
  return [
    ...wrap(describe(situation), width, INDENT),
    '',
    ...table(['Limit', 'Connections', '', 'How to raise it'], rows, INDENT, aligns),
    ...warnings.flatMap(({ message, raise }) => [
      '',
      ...wrap(`${INDENT}Warning: ${message}.`, width, INDENT + INDENT),
      ...wrap(`${INDENT}${INDENT}fix: ${raise}`, width, INDENT + INDENT),
    ]),
    '',
    ...missing.map((program) => `${program} is not installed: ${INSTALL[program]}`),
    ...wrap(profileNote(diagnosis, situation), width, INDENT).filter(Boolean),
    closing(diagnosis, situation),
  ].join('\n');
}

function describe({ load, deployment, machine }: Situation): string {
  const rate = load.ratePerSec === null ? '' : ` at ${decimals(load.ratePerSec, 0)}/s`;
  const client = { light: 'light client', official: 'official client', external: 'third-party engine' }[load.client];
  const server = {
    planned: `a stack that the run starts (${plannedProfile(deployment)})`,
    up: `the running stack (${deployment.profile})`,
    external: 'an external server',
  }[deployment.kind];
  return `${integer(load.connections)} connections${rate} to ${load.target}, ${server}; ${client}, ${coresText(machine)}`;
}

function plannedProfile({ profile, missing }: Situation['deployment']): string {
  return missing.length > 0 ? `${profile}, because ${describeMissing(missing)}` : `${profile}`;
}

const EMBEDDED = 'the embedded profile: one worker, no nginx, no Redis';

/** Returns a note about the profile that the run uses because programs are missing; empty if none is missing. */
function profileNote({ missing }: Diagnosis, { deployment }: Situation): string {
  if (deployment.missing.length > 0)
    return `${describeMissing(deployment.missing)}, so the run starts ${EMBEDDED}. For the whole deployment: ${SETUP}`;
  const needed = missing.join(' or ');
  return needed === '' || missing.includes('pm2') ? '' : `A scenario that does not need ${needed} runs on ${EMBEDDED}.`;
}

/** Returns the last line of the diagnosis. For an external server, it is about the generator only. */
function closing({ fits, connections, highest, bottleneck, missing }: Diagnosis, situation: Situation): string {
  const limit =
    highest === null ? 'no limit found' : `at most ${integer(highest)}, limited by ${spaced(bottleneck ?? '')}`;
  const count = `${integer(connections)} connections`;
  if (!fits) return sentence(`${tooMany(connections, situation)}: ${limit}`);
  if (situation.deployment.kind === 'external')
    return `This machine can generate ${count} (${limit}). Only a run shows whether the server holds them.`;
  return missing.length > 0
    ? `${count} would fit (${limit}), but the run does not start without ${missing.join(' and ')}.`
    : `${count} fit (${limit}).`;
}
