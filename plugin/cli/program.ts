/** `npx socketio-capacity`: one file per command. */
import { createRequire } from 'node:module';
import { Command } from 'commander';
import { addBaseline } from './baseline.ts';
import { addCheck } from './check.ts';
import { LINE } from './command.ts';
import { addCompare } from './compare.ts';
import { addCompletion } from './completion.ts';
import { addConduct } from './conduct.ts';
import { addDoctor } from './doctor.ts';
import { addInit } from './init.ts';
import { addRepeat } from './repeat.ts';
import { addReport } from './report.ts';
import { addSearch } from './search.ts';
import { addStack } from './stack.ts';
import { addStudy } from './study.ts';

const { version } = createRequire(import.meta.url)('artillery-plugin-socketio-capacity/package.json');

/** A program that throws where commander would end the process. */
export function createProgram(): Command {
  const program = new Command(LINE)
    .description(
      'Measures how many Socket.IO connections a deployment holds, what each one costs, and whether every broadcast arrived.',
    )
    .addHelpText(
      'after',
      `\nA first run: npx artillery run scenarios/smoke.yml\nHelp for a command: ${LINE} doctor --help`,
    )
    .version(version, '-V, --version', 'prints the version of the three packages')
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .showSuggestionAfterError()
    .exitOverride();
  for (const add of [
    addInit,
    addDoctor,
    addConduct,
    addRepeat,
    addStudy,
    addSearch,
    addCheck,
    addCompare,
    addBaseline,
    addReport,
    addStack,
    addCompletion,
  ])
    add(program);
  nameHelp(program, LINE);
  return program;
}

/** After a mistake, each command names its own help. */
function nameHelp(command: Command, line: string): void {
  command.showHelpAfterError(`(see ${line} --help)`);
  for (const inner of command.commands) nameHelp(inner, `${line} ${inner.name()}`);
}
