/** The program `npx socketio-capacity`, with one file for each command. */
import { createRequire } from 'node:module';
import { Command, CommanderError } from 'commander';
import { maskText } from '../../protocol/base/secrets/secret-text.ts';
import { CapacityError, describeError } from '../../protocol/codes/errors.ts';
import { EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import { addAdopt } from './adopt.ts';
import { addCheck } from './check-command.ts';
import { COMMAND_LINE_PREFIX } from './command.ts';
import { addCompare } from './compare-command.ts';
import { addCompletion } from './completion-command.ts';
import { addConduct } from './conduct.ts';
import { addDoctor } from './doctor.ts';
import { addHost } from './host.ts';
import { addInit } from './init.ts';
import { addReport } from './report-command.ts';
import { addSearch } from './search.ts';
import { addStack } from './stack-command.ts';
import { addStudy } from './study.ts';

/** Names of removed commands, with the commands that replace them. */
const REPLACED: Record<string, string> = {
  repeat: `\`${COMMAND_LINE_PREFIX} study <scenario> --times <n>\``,
  baseline: `\`${COMMAND_LINE_PREFIX} compare <result> --save <file>\` and \`--against <file>\``,
};

const { version } = createRequire(import.meta.url)('artillery-plugin-socketio-capacity/package.json');

/** Creates the program. Errors are thrown; commander would end the process. */
export function createProgram(): Command {
  const program = new Command(COMMAND_LINE_PREFIX)
    .description(
      'Measures how many Socket.IO connections a deployment holds, what each one costs, and whether every broadcast arrived.',
    )
    .addHelpText(
      'after',
      `\nA first run: npx artillery run scenarios/smoke.yml\nHelp for a command: ${COMMAND_LINE_PREFIX} doctor --help`,
    )
    .version(version, '-V, --version', 'prints the version of the three packages')
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .configureOutput({ outputError: (text, write) => write(maskText(text)) })
    .showSuggestionAfterError()
    .exitOverride();
  for (const add of [
    addInit,
    addAdopt,
    addDoctor,
    addConduct,
    addHost,
    addStudy,
    addSearch,
    addCheck,
    addCompare,
    addReport,
    addStack,
    addCompletion,
  ])
    add(program);
  nameHelp(program, COMMAND_LINE_PREFIX);
  return program;
}

/**
 * Runs a command line, prints errors, and sets the process's exit code.
 * @param args arguments without `npx socketio-capacity`; undefined for the arguments of this process
 */
export async function runProgram(program: Command, args?: string[]): Promise<void> {
  const [first = ''] = args ?? process.argv.slice(2);
  if (Object.hasOwn(REPLACED, first)) {
    console.error(`error: \`${first}\` is now ${REPLACED[first]}`);
    process.exitCode = EXIT_CODES.refused;
    return;
  }
  try {
    await program.parseAsync(args, args && { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) {
      // Commander has already printed the help or the error.
      process.exitCode = error.exitCode === 0 ? 0 : EXIT_CODES.refused;
    } else {
      if (!(error instanceof CapacityError)) throw error;
      console.error(describeError(error));
      process.exitCode = EXIT_CODES.refused;
    }
  }
}

/** Adds a reference to the command's help to errors about wrong usage of the command. */
function nameHelp(command: Command, line: string): void {
  command.showHelpAfterError(`(see ${line} --help)`);
  for (const inner of command.commands) nameHelp(inner, `${line} ${inner.name()}`);
}
