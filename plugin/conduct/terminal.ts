/** What a run prints. With `--quiet`, only errors and the answer. */
import type { Result } from '../../protocol/result/result.ts';
import { renderAnswer, renderRun } from '../../report/render/console.ts';
import { runDocument } from '../../report/sections/run-document.ts';
import { LiveLine } from '../live/terminal-line.ts';
import { terminalSchema } from '../script/options/plugin-options.ts';

/** The terminal of the process that conducts the run. */
export interface Terminal {
  quiet: boolean;
  /** Prints a line on standard output. */
  print(text: string): void;
  /** Calls it before each line that anybody prints. */
  beforeLine(listener: () => void): void;
}

export function log({ quiet, print }: Terminal, text: string): void {
  if (!quiet) print(text);
}

/**
 * @param path of result.json
 * @param files beside it
 */
export function logResult(terminal: Terminal, result: Result, path: string, files: string[]): void {
  const { isTTY, columns } = process.stdout;
  const color = isTTY === true && !terminalSchema.parse(process.env).NO_COLOR;
  const document = runDocument(result);
  const options = { color, width: columns || 100, files: `Result: ${path}, and beside it ${files.join(', ')}` };
  if (terminal.quiet) console.log(renderAnswer(document, options));
  else log(terminal, `\n${renderRun(document, options)}\n`);
}

/** @returns undefined without a terminal, or with `--quiet`: the line would clutter a log */
export function openLiveLine(
  { quiet, beforeLine }: Terminal,
  measurements: ConstructorParameters<typeof LiveLine>[1],
): LiveLine | undefined {
  if (quiet || !hasLiveTerminal(process.stderr, process.env)) return undefined;
  const live = new LiveLine(process.stderr, measurements);
  beforeLine(() => live.clear());
  live.start();
  return live;
}

export function hasLiveTerminal({ isTTY }: { isTTY?: boolean }, env: NodeJS.ProcessEnv): boolean {
  const { CI, TERM } = terminalSchema.parse(env);
  return isTTY === true && TERM !== 'dumb' && !CI;
}
