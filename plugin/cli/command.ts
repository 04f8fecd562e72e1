/** What all commands share: help with examples, JSON output, and the terminal's abilities. */
import type { Command } from 'commander';
import { terminalSchema } from '../script/options/plugin-options.ts';

interface HelpText {
  /** Command lines without `npx socketio-capacity`, and the purpose of each. */
  examples: Record<string, string>;
  exitCodes: Record<number, string>;
}

const LINE = 'npx socketio-capacity';

/** Adds examples and exit codes to a command's `--help`. */
export function addHelp(command: Command, { examples, exitCodes }: HelpText): Command {
  const shown = Object.entries(examples).map(([line, purpose]) => `  # ${purpose}\n  ${LINE} ${line}`);
  const codes = Object.entries(exitCodes).map(([code, meaning]) => `  ${code.padStart(3)}  ${meaning}`);
  return command.addHelpText('after', `\nExamples:\n${shown.join('\n')}\n\nExit codes:\n${codes.join('\n')}`);
}

/** `--json`, with the same description everywhere. */
export function withJson(command: Command): Command {
  return command.option('--json', 'prints the result as JSON on standard output');
}

export function printJson(value: unknown): void {
  console.log(JSON.stringify(value, null, 2));
}

/** @returns whether standard output shows colours, and its columns */
export function screen(): { color: boolean; width: number } {
  const { isTTY, columns } = process.stdout;
  return { color: isTTY === true && !terminalSchema.parse(process.env).NO_COLOR, width: columns || 100 };
}
