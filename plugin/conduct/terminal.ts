/** Prints the output of a run on the terminal. With `--quiet`, prints only errors and the answer. */
import type { Result } from '../../protocol/result/result.ts';
import { renderAnswer, renderRunConsole } from '../../report/render/console.ts';
import { runDocument } from '../../report/sections/run-document.ts';
import { wrapText } from '../../report/text/format.ts';
import { type LiveFacts, LiveLine, renderLive } from '../live/terminal-line.ts';
import { terminalEnvironmentSchema } from '../script/options/plugin-options.ts';

/** The terminal of the process that conducts the run. */
export interface RunTerminal {
  quiet: boolean;
  /** Prints a line on standard output. */
  print(text: string): void;
  /** Registers a listener that is called before each printed line. */
  beforeLine(listener: () => void): void;
}

/**
 * Width of the output if the terminal reports none: the width is undefined in a pipe, and 0 in a pseudo terminal
 * without a size.
 */
const DEFAULT_COLUMNS = 80;
const PROGRESS_MS = 10_000;

export function logToTerminal({ quiet, print }: RunTerminal, text: string): void {
  if (quiet) return;
  const width = process.stdout.columns || DEFAULT_COLUMNS;
  print(
    text
      .split('\n')
      .flatMap((line) => wrapText(line, width, '  '))
      .join('\n'),
  );
}

/**
 * Prints the result.
 * @param path path of result.json; undefined if it could not be written
 * @param files names of the other files in its folder
 */
export function logResult(terminal: RunTerminal, result: Result, path: string | undefined, files: string[]): void {
  const { isTTY, columns } = process.stdout;
  const color = isTTY === true && !terminalEnvironmentSchema.parse(process.env).NO_COLOR;
  const document = runDocument(result);
  const options = {
    color,
    width: columns || DEFAULT_COLUMNS,
    files:
      path === undefined ? 'result.json could not be written' : `Result: ${path}, and beside it ${files.join(', ')}`,
  };
  if (terminal.quiet) console.log(renderAnswer(document, options));
  else terminal.print(`\n${renderRunConsole(document, options)}\n`);
}

/**
 * Shows the progress of a run: one line that is updated on a terminal, otherwise a line every 10 s.
 * @returns the progress display; undefined with `--quiet`
 */
export function openProgress(terminal: RunTerminal, facts: () => LiveFacts): Pick<LiveLine, 'close'> | undefined {
  if (terminal.quiet) return undefined;
  if (!hasLiveTerminal(process.stderr, process.env)) {
    const timer = setInterval(() => logToTerminal(terminal, renderLive(facts())), PROGRESS_MS);
    return { close: () => clearInterval(timer) };
  }
  const live = new LiveLine(process.stderr, facts);
  terminal.beforeLine(() => live.clear());
  live.start();
  return live;
}

export function hasLiveTerminal({ isTTY }: { isTTY?: boolean }, env: NodeJS.ProcessEnv): boolean {
  const { CI, TERM } = terminalEnvironmentSchema.parse(env);
  return isTTY === true && TERM !== 'dumb' && !CI;
}
