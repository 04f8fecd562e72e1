/** A diagnosis as text. */
import { decimals, integer, sentence, spaced, wrap } from '../../report/text/format.ts';
import { table } from '../../report/text/table.ts';
import { type Diagnosis, tooMany } from './diagnosis.ts';
import { coresText, type Program } from './machine.ts';
import type { Situation } from './situation.ts';

const INDENT = '  ';
const TOOL = 'npm run setup, or PROFILE=embedded';
const INSTALL: Record<Program, string> = { nginx: TOOL, 'redis-server': TOOL, pm2: 'npm install pm2' };

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
    closing(diagnosis, situation),
  ].join('\n');
}

function describe({ load, deployment, machine }: Situation): string {
  const rate = load.ratePerSec === null ? '' : ` at ${decimals(load.ratePerSec, 0)}/s`;
  const client = { light: 'light client', official: 'official client', external: 'third-party engine' }[load.client];
  const behind = {
    planned: `a stack that the run starts (${deployment.profile})`,
    up: `the stack that is up (${deployment.profile})`,
    external: 'an external server',
  }[deployment.kind];
  return `${integer(load.connections)} connections${rate} to ${load.target}, ${behind}; ${client}, ${coresText(machine)}`;
}

/** Only the generator's side is known of a server that is not ours. */
function closing({ fits, connections, highest, bottleneck }: Diagnosis, situation: Situation): string {
  const limit =
    highest === null ? 'no limit found' : `at most ${integer(highest)}, limited by ${spaced(bottleneck ?? '')}`;
  const count = `${integer(connections)} connections`;
  if (!fits) return sentence(`${tooMany(connections, situation)}: ${limit}`);
  return situation.deployment.kind === 'external'
    ? `This machine can generate ${count} (${limit}). Only a run shows whether the server holds them.`
    : `${count} fit (${limit}).`;
}
