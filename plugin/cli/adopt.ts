/** `adopt`: converts a scenario for another Socket.IO engine to a scenario that this tool can measure. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { escapeEachLine } from '../../protocol/base/printable.ts';
import { formatProblems } from '../../protocol/base/problems.ts';
import { withoutCredentials } from '../../protocol/base/secrets/known-secrets.ts';
import { EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import { type AdoptedScenario, adoptScenario } from './adopt/adopted-scenario.ts';
import {
  addHelp,
  addJsonOption,
  COMMAND_LINE_PREFIX,
  invalidOptionError,
  printJson,
  shellQuotedPath,
  writeOutputFile,
} from './command.ts';
import { withReadErrors } from './scenario-argument.ts';

const MAX_BYTES = 2 ** 20;
const MAX_LINE_LENGTH = 400;
const MAX_PART_LENGTH = 60;

interface Options {
  out?: string;
  hold?: true;
  leave?: true;
  force?: boolean;
  json?: boolean;
}

export function addAdopt(program: Command): void {
  const command = program
    .command('adopt')
    .description(
      'Writes a scenario that is measured, from one of another Socket.IO engine, also frames such as 42["join"], and explains each change.',
    )
    .argument('<scenario>', 'an Artillery scenario, as YAML or JSON')
    .option('--out <file>', 'the file to write (default: chat.capacity.yml beside chat.yml)')
    .option('--hold', 'users stay until everything is measured (default, unless that is many times the load)')
    .option('--leave', 'the users come and go as before')
    .option('--force', 'overwrites an existing file')
    .action(adopt);
  addHelp(addJsonOption(command), {
    examples: {
      'adopt chat.yml': 'writes chat.capacity.yml, whose users stay',
      'adopt chat.yml --leave --out load.yml': 'keeps users who come and go',
    },
    exitCodes: {
      0: 'written, and a run accepts it',
      2: 'it cannot be read or written; or it was written, and a run refuses it until you decide what is printed',
    },
  });
}

async function adopt(scenario: string, { out, hold, leave, force, json }: Options): Promise<void> {
  if (hold && leave) throw invalidOptionError('--hold and --leave exclude each other', 'adopt');
  const extension = extname(scenario);
  const file = out ?? join(dirname(scenario), `${basename(scenario, extension)}.capacity${extension || '.yml'}`);
  if (dirname(resolve(file)) !== dirname(resolve(scenario))) {
    throw invalidOptionError('--out: name a file in the folder of the scenario, because of the paths in it', 'adopt');
  }
  if (resolve(file) === resolve(scenario))
    throw invalidOptionError('--out: the scenario itself is never overwritten', 'adopt');
  const found = await withReadErrors(scenario, async () => {
    if (statSync(scenario).size > MAX_BYTES) throw new Error('it has more than 1 MB');
    return adoptScenario(readFileSync(scenario, 'utf8'), file, hold ?? (leave ? false : undefined));
  });
  writeOutputFile(file, 'choose another file: --out <file>, or overwrite it: --force', () => {
    writeFileSync(file, found.text, { flag: force ? 'w' : 'wx' });
  });
  if (found.problems.length > 0) process.exitCode = EXIT_CODES.refused;
  if (json) {
    const { changes, undecided, holds, variables } = found;
    const problems = found.problems.map(({ path, message }) => ({ path, message }));
    return printJson({ file, changes, undecided, problems, holds, variables });
  }
  for (const line of linesOf(scenario, file, found)) console.log(line);
}

function linesOf(
  scenario: string,
  file: string,
  { changes, undecided, problems, holds, variables }: AdoptedScenario,
): string[] {
  const at = (line: number | undefined) => (line === undefined ? '     new' : `line ${String(line).padStart(3)}`);
  const decide = [...undecided.map(({ line, why }) => `  ${at(line)}  ${why}`)];
  const next = holds
    ? 'Its users stay until everything is measured (--leave: they come and go as before).'
    : 'Its users come and go as before (--hold: they stay, which measures memory per connection).';
  return [
    `${scenario} → ${file}`,
    ...changes.map(({ line, before, after, why }) => {
      const parts = [before, after].map(partsOf).filter(Boolean);
      return `  ${at(line)}  ${parts.join(' → ') || 'removed'}: ${why}`;
    }),
    ...(decide.length > 0 ? ['To decide, also in the file:', ...decide] : []),
    ...(problems.length > 0
      ? ['A run refuses it until this is decided:', ...formatProblems(problems).split('\n')]
      : []),
    ...(problems.length > 0 ? [] : [next]),
    ...(variables.length > 0 ? [`Each run reads ${variables.join(', ')} from the environment.`] : []),
    ...(problems.length > 0
      ? []
      : [`Next: ${COMMAND_LINE_PREFIX} doctor ${shellQuotedPath(file)}; npx artillery run ${shellQuotedPath(file)}`]),
  ].map((line) => escapeEachLine(withoutCredentials(line)).slice(0, MAX_LINE_LENGTH));
}

function partsOf(owner: Record<string, unknown>): string {
  return Object.entries(owner)
    .map(([key, value]) => {
      const text = JSON.stringify(value) ?? '';
      return `${key}${key && ': '}${text.length > MAX_PART_LENGTH ? `${text.slice(0, MAX_PART_LENGTH)}…` : text}`;
    })
    .join(', ');
}
