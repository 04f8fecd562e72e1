/** Prints the output of a run on the terminal. With `--quiet`, prints only errors and the answer. */
import type { Result } from '../../protocol/result/result.ts';
import { renderAnswer, renderRun } from '../../report/render/console.ts';
import { runDocument } from '../../report/sections/run-document.ts';
import { wrap } from '../../report/text/format.ts';
import { type LiveFacts, LiveLine, renderLive } from '../live/terminal-line.ts';
import { terminalSchema } from '../script/options/plugin-options.ts';

/** The terminal of the process that conducts the run. */
export interface Terminal {
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

export function log({ quiet, print }: Terminal, text: string): void {
  if (quiet) return;
  const width = process.stdout.columns || DEFAULT_COLUMNS;
  print(
    text
      .split('\n')
      .flatMap((line) => wrap(line, width, '  '))
      .join('\n'),
  );
}

/**
 * Prints the result.
 * @param path path of result.json; undefined if it could not be written
 * @param files names of the other files in its folder
 */
export function logResult(terminal: Terminal, result: Result, path: string | undefined, files: string[]): void {
  const { isTTY, columns } = process.stdout;
  const color = isTTY === true && !terminalSchema.parse(process.env).NO_COLOR;
  const document = runDocument(result);
  const options = {
    color,
    width: columns || DEFAULT_COLUMNS,
    files:
      path === undefined ? 'result.json could not be written' : `Result: ${path}, and beside it ${files.join(', ')}`,
  };
  if (terminal.quiet) console.log(renderAnswer(document, options));
  else terminal.print(`\n${renderRun(document, options)}\n`);
}

/**
 * Shows progress: one line that is updated on a terminal, otherwise a line every 10 s.
 * @returns the progress display; undefined with `--quiet`
 */
export function openProgress(terminal: Terminal, facts: () => LiveFacts): Pick<LiveLine, 'close'> | undefined {
  if (terminal.quiet) return undefined;
  if (!hasLiveTerminal(process.stderr, process.env)) {
    const timer = setInterval(() => log(terminal, renderLive(facts())), PROGRESS_MS);
    return { close: () => clearInterval(timer) };
  }
  const live = new LiveLine(process.stderr, facts);
  terminal.beforeLine(() => live.clear());
  live.start();
  return live;
}

export function hasLiveTerminal({ isTTY }: { isTTY?: boolean }, env: NodeJS.ProcessEnv): boolean {
  const { CI, TERM } = terminalSchema.parse(env);
  return isTTY === true && TERM !== 'dumb' && !CI;
}
