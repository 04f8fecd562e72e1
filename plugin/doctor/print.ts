/** A diagnosis as text. */
import { decimals, integer, spaced, wrap } from '../../report/text/format.ts';
import { table } from '../../report/text/table.ts';
import { coresText } from './cores.ts';
import type { Diagnosis } from './diagnosis.ts';
import type { Program } from './machine.ts';
import type { Situation } from './situation.ts';

const INDENT = '  ';
const TOOL = 'npm run setup, or PROFILE=embedded';
const INSTALL: Record<Program, string> = { nginx: TOOL, 'redis-server': TOOL, pm2: 'npm install pm2' };

/** @param width columns of the terminal */
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
    ...table(['Limit', 'Highest N', '', 'How to raise it'], rows, INDENT, aligns),
    ...warnings.flatMap(({ message, raise }) => [
      '',
      ...wrap(`${INDENT}Warning: ${message}.`, width, INDENT + INDENT),
      ...wrap(`${INDENT}${INDENT}fix: ${raise}`, width, INDENT + INDENT),
    ]),
    '',
    ...missing.map((program) => `${program} is not installed: ${INSTALL[program]}`),
    closing(diagnosis),
  ].join('\n');
}

function describe({ load, deployment, machine }: Situation): string {
  const rate = load.ratePerSec === null ? '' : ` at ${decimals(load.ratePerSec, 0)}/s`;
  const client = { light: 'light client', official: 'official client', external: 'third-party engine' }[load.client];
  const behind = {
    planned: `a stack that the run starts (${deployment.profile})`,
    up: `the stack that is up (${deployment.profile})`,
    external: 'an external server, whose limits are not known here',
  }[deployment.kind];
  return `${integer(load.connections)} connections${rate} to ${load.target}, ${behind}; ${client}, ${coresText(machine)}`;
}

function closing({ fits, connections, highest, bottleneck }: Diagnosis): string {
  const limit =
    highest === null ? 'no limit found' : `at most ${integer(highest)}, limited by ${spaced(bottleneck ?? '')}`;
  return fits
    ? `${integer(connections)} connections fit (${limit}).`
    : `${integer(connections)} connections do not fit: ${limit}.`;
}
