/** What a series prints while it runs. */
import { join } from 'node:path';
import { endingOf, type SeriesRun } from '../../protocol/documents/series.ts';
import { counted, durationText } from '../../report/text/format.ts';
import { logTail } from '../../server/stack/logs.ts';
import { errorIn } from './run.ts';

/** @returns `Run 3: TLS=on; 4 runs left, about 6 min` */
export function beginText(
  number: number,
  label: string,
  left: number | undefined,
  runs: { run: Pick<SeriesRun, 'exitCode' | 'seconds'> }[],
): string {
  if (left === undefined) return `Run ${number}: ${label}`;
  // Later runs can take longer, those at higher levels for example.
  const { seconds } = runs.findLast(({ run }) => endingOf(run.exitCode) === 'measured')?.run ?? {};
  const time = seconds === undefined ? '' : `, about ${durationText(left * seconds)}`;
  return `Run ${number}: ${label}; ${counted(left, 'run')} left${time}`;
}

/**
 * @param outcome of a run that was measured, and details
 * @param folder of the series
 */
export function endLines({ number, exitCode, seconds }: SeriesRun, outcome: string[], folder: string): string[] {
  const ending = endingOf(exitCode);
  const log = join(folder, 'logs', `${number}.log`);
  const [what, ...details] =
    ending === 'measured' ? outcome : ending === 'stopped' ? [ending] : [ending, ...failureIn(log)];
  return [`  ${what} after ${durationText(seconds)}`, ...details.map((line) => `    ${line}`)];
}

/** @param shown of its report @returns what a series prints at its end */
export function endText({ kind, folder }: { kind: string; folder: string }, shown: string): string {
  return [
    '',
    shown,
    '',
    `Series: ${join(folder, `${kind}.json`)}`,
    `  and beside it ${kind}.md, ${kind}.html, runs/ and the output of each run in logs/`,
  ].join('\n');
}

function failureIn(log: string): string[] {
  const error = errorIn(log);
  return error.length > 0 ? error : [`${log} ends with:`, logTail(log, 5)];
}
