/** What a series prints while it runs. */
import { join } from 'node:path';
import { endingOf, type SeriesRun } from '../../protocol/documents/series.ts';
import { counted, durationText } from '../../report/text/format.ts';
import { logTail } from '../../server/stack/logs.ts';
import { errorIn } from './run.ts';

/** Later runs can take longer, those at higher levels for example. */
const RECENT = 5;

/** @returns `Run 3: TLS=on; 4 runs left, about 6 min` */
export function beginText(
  number: number,
  label: string,
  left: number | undefined,
  runs: { run: Pick<SeriesRun, 'exitCode' | 'seconds'> }[],
): string {
  if (left === undefined) return `Run ${number}: ${label}`;
  const seconds = secondsOf(runs);
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

function failureIn(log: string): string[] {
  const error = errorIn(log);
  return error.length > 0 ? error : [`${log} ends with:`, logTail(log, 5)];
}

/** @returns by the mean of the latest runs that came to their end; undefined before the first */
function secondsOf(runs: { run: Pick<SeriesRun, 'exitCode' | 'seconds'> }[]): number | undefined {
  const recent = runs.filter(({ run }) => endingOf(run.exitCode) === 'measured').slice(-RECENT);
  if (recent.length === 0) return undefined;
  return recent.reduce((sum, { run }) => sum + run.seconds, 0) / recent.length;
}
