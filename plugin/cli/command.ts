/** Parts that all commands share: help texts, options, and JSON output. */
import type { Command } from 'commander';
import { z } from 'zod';
import { formatProblems, type InputProblem, problemsOfZodError } from '../../protocol/base/problems.ts';
import { mapTexts, withoutCredentials } from '../../protocol/base/secrets/known-secrets.ts';
import { unwritableError } from '../../protocol/base/unwritable.ts';
import { CapacityError } from '../../protocol/codes/errors.ts';
import { terminalEnvironmentSchema } from '../script/options/plugin-options.ts';

interface HelpText {
  /** Examples of the command's use: command lines without `npx socketio-capacity`, each with its purpose. */
  examples: Record<string, string>;
  exitCodes: Record<number, string>;
}

/** Schema of a percentage in an option: `20%` becomes 0.2. */
export const percentageSchema = z.string().transform((text, context): number => {
  const percent = Number(/^(\d+(?:\.\d+)?)\s*%$/.exec(text)?.[1] ?? 0);
  if (percent > 0) return percent / 100;
  context.addIssue('expected a share above 0, such as 20%');
  return z.NEVER;
});

/** Beginning of the command line of every command. */
export const COMMAND_LINE_PREFIX = 'npx socketio-capacity';

export function addHelp(command: Command, { examples, exitCodes }: HelpText): Command {
  const shown = Object.entries(examples).map(([line, purpose]) => `  # ${purpose}\n  ${COMMAND_LINE_PREFIX} ${line}`);
  return command.addHelpText('after', () => {
    const help = command.createHelp();
    help.prepareContext({ helpWidth: process.stdout.columns });
    const codes = Object.entries(exitCodes).map(([code, meaning]) =>
      help.formatItem(code.padStart(3), 3, meaning, help),
    );
    return `\nExamples:\n${shown.join('\n')}\n\nExit codes:\n${codes.join('\n')}`;
  });
}

export function addJsonOption(command: Command): Command {
  return command.option('--json', 'prints the result as JSON on standard output');
}

/**
 * Validates the options of a command.
 * @param command name of the command, such as `stack up`
 * @param further problems that the schema cannot find
 * @throws CapacityError CONFIG_INVALID with all problems
 */
export function parseOptions<T>(
  schema: z.ZodType<T>,
  given: unknown,
  command: string,
  further: InputProblem[] = [],
): T {
  const { data, error } = schema.safeParse(given);
  const problems = error ? problemsOfZodError(error, []) : [];
  const named = problems.map(({ path, message }) => ({ path: optionOf(path), message }));
  if (error || further.length > 0)
    throw invalidOptionError(formatProblems([...named, ...further]).trimStart(), command);
  return data as T;
}

/** Returns the name of a command-line option, such as `--redis-nodes` for `redisNodes`. */
function optionOf(path: string): string {
  return `--${path.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/**
 * Returns the error for an invalid option.
 * @param command name of the command whose help describes the option
 */
export function invalidOptionError(message: string, command: string): CapacityError {
  return new CapacityError('CONFIG_INVALID', message, `${COMMAND_LINE_PREFIX} ${command} --help`);
}

/**
 * Calls `write`, which writes an output file.
 * @throws CapacityError FILE_UNWRITABLE if `write` throws
 */
export function writeOutputFile(path: string, fix: string, write: () => void): void {
  try {
    write();
  } catch (cause) {
    throw unwritableError(path, cause, fix);
  }
}

/** Returns the path as an argument for a shell command, with quotes if needed. */
export function shellQuotedPath(path: string): string {
  return /^[\w./:@%+,-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}

/**
 * Prints JSON in which control characters and `##vso[` are escaped. Terminals and CI systems would execute them as
 * commands, anywhere in a line.
 */
export function printJson(value: unknown): void {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  console.log(
    JSON.stringify(mapTexts(value, withoutCredentials), null, 2).replace(/[\x7f-\x9f\u2028-\u202e]|#(?=#)/g, escaped),
  );
}

export function terminalFormat(): { color: boolean; width: number } {
  const { isTTY, columns } = process.stdout;
  return { color: isTTY === true && !terminalEnvironmentSchema.parse(process.env).NO_COLOR, width: columns || 100 };
}
