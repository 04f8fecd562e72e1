/** What a run prints. `--quiet` suppresses everything except errors. */
import type { Result } from '../../protocol/result/result.ts';
import { renderConsole } from '../../report/console/console.ts';
import { LiveLine } from '../live/terminal-line.ts';
import { terminalSchema } from '../script/plugin-options.ts';
import { artillery } from './artillery.ts';

export function log(text: string): void {
  if (!quiet()) artillery().log(text);
}

/**
 * @param path of result.json
 * @param files beside it
 */
export function logResult(result: Result, path: string, files: string[]): void {
  const { isTTY, columns } = process.stdout;
  const color = isTTY === true && !terminalSchema.parse(process.env).NO_COLOR;
  log(
    `\n${renderConsole(result, { color, width: columns || 100 })}\nResult: ${path}, and beside it ${files.join(', ')}\n`,
  );
}

/** @returns undefined without a terminal, or with `--quiet`: the line would clutter a log */
export function openLiveLine(measurements: ConstructorParameters<typeof LiveLine>[1]): LiveLine | undefined {
  if (quiet() || !hasLiveTerminal(process.stderr, process.env)) return undefined;
  const live = new LiveLine(process.stderr, measurements);
  artillery().globalEvents.prependListener('log', () => live.clear());
  live.start();
  return live;
}

export function hasLiveTerminal({ isTTY }: { isTTY?: boolean }, env: NodeJS.ProcessEnv): boolean {
  const { CI, TERM } = terminalSchema.parse(env);
  return isTTY === true && TERM !== 'dumb' && !CI;
}

function quiet(): boolean {
  return artillery().testInfo.flags.quiet === true;
}
