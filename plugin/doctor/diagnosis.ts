/** Makes and prints a diagnosis before a run: missing programs, limits, warnings, and whether the load fits. */
import { openFileLimits } from '../../protocol/base/machine/open-files.ts';
import { CapacityError } from '../../protocol/codes/errors.ts';
import { asSentence, decimalsText, integerText, spacedWords, wrapText } from '../../report/text/format.ts';
import { tableLines } from '../../report/text/table.ts';
import { describeMissingTools } from '../../server/stack/profile.ts';
import type { Settings } from '../script/settings.ts';
import { type ConnectionLimit, findLimits } from './check-limits.ts';
import { coresText, type RequiredProgram } from './check-machine.ts';
import { type DoctorSituation, readDoctorSituation } from './situation.ts';
import { type DoctorWarning, findDoctorWarnings } from './warnings.ts';

export interface Diagnosis {
  /** Number of connections in the scenario. */
  connections: number;
  fits: boolean;
  /** Highest number of connections that all limits allow; null without limits. */
  highest: number | null;
  bottleneck: string | null;
  /** All limits, with the lowest limit first. */
  limits: ConnectionLimit[];
  warnings: DoctorWarning[];
  /** Programs that the run would start but that are not installed. */
  missing: RequiredProgram[];
}

export function diagnose(situation: DoctorSituation): Diagnosis {
  const { connections } = situation.load;
  const { nginx, redis, pm2 } = situation.deployment.starts;
  const starts: Record<RequiredProgram, boolean> = { nginx, 'redis-server': redis > 0, pm2 };
  const limits = findLimits(situation);
  const lowest = limits.find(({ max }) => max !== null);
  const highest = lowest?.max ?? null;
  return {
    connections,
    fits: highest === null || highest >= connections,
    highest,
    bottleneck: lowest?.name ?? null,
    limits,
    warnings: findDoctorWarnings(situation),
    missing: situation.machine.missing.filter((program) => starts[program]),
  };
}

/**
 * Checks before a run that its load fits. Logs the warnings. Missing programs are not checked here, because the start
 * of the stack reports them.
 * @param hosts number of generator hosts, each with the same share as this host
 * @throws CapacityError LIMIT_TOO_LOW with the highest number that fits, the exceeded limits, and how to raise them
 */
export async function requireLoadFits(settings: Settings, log: (text: string) => void, hosts = 1): Promise<void> {
  const situation = await readDoctorSituation(settings);
  const { connections, fits, highest, limits, warnings } = diagnose(situation);
  if (fits) {
    for (const { message, raise } of warnings) log(`Doctor: ${message}.\n  fix: ${raise}`);
    return;
  }
  const exceeded = limits.filter(({ max }) => max !== null && max < connections);
  const named = exceeded.map(({ name, max }) => `${spacedWords(name)} (${integerText(max ?? 0)})`);
  const isGenerator = situation.deployment.kind === 'external' && highest;
  const enough = isGenerator ? `; ${integerText(Math.ceil((connections * hosts) / highest))} such hosts would do` : '';
  throw new CapacityError(
    'LIMIT_TOO_LOW',
    `${tooMany(connections, situation)}: at most ${integerText(highest ?? 0)} are possible, limited by ${named.join(', ')}${enough}`,
    exceeded.map(({ raise }) => raise).join('\n       '),
  );
}

/**
 * Returns a text such as `32,000 connections do not fit`. For an external server, the text only concerns the generator.
 */
function tooMany(connections: number, { deployment: { kind } }: Pick<DoctorSituation, 'deployment'>): string {
  const count = `${integerText(connections)} connections`;
  return kind === 'external' ? `this machine cannot generate ${count}` : `${count} do not fit`;
}

/** Minimum number of open files with which Artillery, the fleet processes and the stack can start. */
const MIN_OPEN_FILES = 512;

/**
 * Checks the limit of open files.
 * @throws CapacityError LIMIT_TOO_LOW
 */
export function requireOpenFileLimit(): void {
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
const INSTALL: Record<RequiredProgram, string> = { nginx: SETUP, 'redis-server': SETUP, pm2: 'npm install pm2' };

export function printDiagnosis(diagnosis: Diagnosis, situation: DoctorSituation, width: number): string {
  const { limits, warnings, bottleneck, missing } = diagnosis;
  const rows = limits.map(({ name, max, raise }) => [
    spacedWords(name),
    max === null ? 'no limit' : integerText(max),
    name === bottleneck ? 'lowest' : '',
    raise ?? '',
  ]);
  const aligns: ('left' | 'right')[] = ['left', 'right', 'left', 'left'];
  return [
    ...wrapText(describe(situation), width, INDENT),
    '',
    ...tableLines(['Limit', 'Connections', '', 'How to raise it'], rows, INDENT, aligns),
    ...warnings.flatMap(({ message, raise }) => [
      '',
      ...wrapText(`${INDENT}Warning: ${message}.`, width, INDENT + INDENT),
      ...wrapText(`${INDENT}${INDENT}fix: ${raise}`, width, INDENT + INDENT),
    ]),
    '',
    ...missing.map((program) => `${program} is not installed: ${INSTALL[program]}`),
    ...wrapText(profileNote(diagnosis, situation), width, INDENT).filter(Boolean),
    closing(diagnosis, situation),
  ].join('\n');
}

function describe({ load, deployment, machine }: DoctorSituation): string {
  const rate = load.ratePerSec === null ? '' : ` at ${decimalsText(load.ratePerSec, 0)}/s`;
  const client = { light: 'light client', official: 'official client', external: 'third-party engine' }[load.client];
  const server = {
    planned: `a stack that the run starts (${plannedProfile(deployment)})`,
    up: `the running stack (${deployment.profile})`,
    external: 'an external server',
  }[deployment.kind];
  return `${integerText(load.connections)} connections${rate} to ${load.target}, ${server}; ${client}, ${coresText(machine)}`;
}

function plannedProfile({ profile, missing }: DoctorSituation['deployment']): string {
  return missing.length > 0 ? `${profile}, because ${describeMissingTools(missing)}` : `${profile}`;
}

const EMBEDDED = 'the embedded profile: one worker, no nginx, no Redis';

/** Returns a note about the stack profile that the run uses because programs are missing; empty if none is missing. */
function profileNote({ missing }: Diagnosis, { deployment }: DoctorSituation): string {
  if (deployment.missing.length > 0)
    return `${describeMissingTools(deployment.missing)}, so the run starts ${EMBEDDED}. For the whole deployment: ${SETUP}`;
  const needed = missing.join(' or ');
  return needed === '' || missing.includes('pm2') ? '' : `A scenario that does not need ${needed} runs on ${EMBEDDED}.`;
}

/** Returns the last line of the diagnosis. For an external server, the line only concerns the generator. */
function closing({ fits, connections, highest, bottleneck, missing }: Diagnosis, situation: DoctorSituation): string {
  const limit =
    highest === null
      ? 'no limit found'
      : `at most ${integerText(highest)}, limited by ${spacedWords(bottleneck ?? '')}`;
  const count = `${integerText(connections)} connections`;
  if (!fits) return asSentence(`${tooMany(connections, situation)}: ${limit}`);
  if (situation.deployment.kind === 'external')
    return `This machine can generate ${count} (${limit}). Only a run shows whether the server holds them.`;
  return missing.length > 0
    ? `${count} would fit (${limit}), but the run does not start without ${missing.join(' and ')}.`
    : `${count} fit (${limit}).`;
}
