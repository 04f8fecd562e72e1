/**
 * Makes a series of runs. Each next run is decided from the previous runs. The result of each run and the documents are
 * saved after it, so the same command resumes a stopped series. A complete series is moved to another folder first, so
 * a command never presents old figures as new figures.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { z } from 'zod';
import { escapeEachLine } from '../../protocol/base/printable.ts';
import { CapacityError, describeError } from '../../protocol/codes/errors.ts';
import { runEndingOf, type SeriesRun } from '../../protocol/documents/series-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import type { ReportDocument as Report } from '../../report/model/document.ts';
import { readResult } from '../../report/read.ts';
import { renderMarkdown } from '../../report/render/markdown.ts';
import { countText, durationText } from '../../report/text/format.ts';
import { logTail } from '../../server/stack/logs.ts';
import { abortablePause } from '../run/wait.ts';
import { artilleryScript, untilStopped } from './artillery-arguments.ts';
import { lockSeriesFolder, moveSeriesAside, readSeriesDocument, writeSeriesFiles } from './folder.ts';
import { type EndedRun, type RunCommand, runOnce, type SeriesRunContext } from './series-run.ts';

/**
 * A run that was started, with its result if there is one. `Key` identifies the run in its series, for example by its
 * number of connections.
 */
export interface StartedRun<Key> {
  run: SeriesRun & Key;
  result: Result | undefined;
}

export type NextRun<Key, End> =
  | {
      key: Key;
      /** Name of the run in progress messages. */
      label: string;
      /** Maximum number of remaining runs, including this run; undefined if unknown. */
      left: number | undefined;
      /** Minimum time between the end of the previous run and the start of this run, in seconds. */
      restSeconds?: number;
    }
  | { end: End };

interface SeriesDocument<Key> {
  startedAt: string;
  runs: (SeriesRun & Key)[];
}

/** Properties of a series that differ between commands. */
export interface SeriesDefinition<Key, End, Document extends SeriesDocument<Key>> {
  /** Base name of the documents of the series: `<kind>.json`, `.md` and `.html`. */
  kind: string;
  folder: string;
  schema: z.ZodType<Document>;
  /**
   * Returns, by name, the properties that must be equal in the stored document and in the new document. If they differ,
   * the series cannot be resumed.
   */
  identityOf(document: Document): Record<string, unknown>;
  /**
   * Decides on the next run. The decision depends on the runs alone, so that a resumed series continues in the same
   * way.
   * @param runs all started runs, in order
   * @param earlier number of runs that earlier calls of the command made; if these runs ended the series, the series
   * tries again
   */
  next(runs: StartedRun<Key>[], earlier: number): NextRun<Key, End> | Promise<NextRun<Key, End>>;
  /**
   * Returns the command for a run.
   * @throws CapacityError if the run cannot be made; the run counts as refused
   */
  commandOf(key: Key): RunCommand;
  /** Returns the outcome of a measured run and details about it, for progress messages. */
  outcomeOf(made: StartedRun<Key>): string[];
  /**
   * Builds the document of the series.
   * @param end how the series ended; undefined while it is not finished
   */
  documentOf(startedAt: string, runs: StartedRun<Key>[], end: End | undefined): Document;
  /** Returns the report of the series, which is written as Markdown and as HTML. */
  reportOf(document: Document, runs: StartedRun<Key>[]): Report;
}

interface Runner extends Pick<SeriesRunContext, 'artillery' | 'conduct' | 'signal'> {
  print(text: string): void;
}

/**
 * Makes runs until the series has ended or the signal aborts.
 * @throws CapacityError IN_USE, SERIES_CHANGED, FILE_UNREADABLE, FILE_UNWRITABLE
 */
export async function runSeries<Key, End, Document extends SeriesDocument<Key>>(
  series: SeriesDefinition<Key, End, Document>,
  { artillery, conduct, signal, print }: Runner,
): Promise<{ document: Document; runs: StartedRun<Key>[] }> {
  const { kind, folder, schema } = series;
  // The chart library is loaded only when it is needed, because loading takes long.
  const { renderHtml } = await import('../../report/render/html.ts');
  const close = lockSeriesFolder(folder);
  try {
    let { startedAt, runs } = earlierRuns(series);
    if (await isComplete(series, startedAt, runs)) {
      print(
        `The earlier ${kind} is complete, and was moved to ${moveSeriesAside(folder, startedAt)}. Starting a new one.`,
      );
      [startedAt, runs] = [new Date().toISOString(), []];
    }
    const earlier = runs.length;
    if (earlier > 0) print(`Resuming after ${countText(earlier, 'earlier run')}.`);
    let end: End | undefined;
    const write = () => {
      const document = series.documentOf(startedAt, runs, end);
      const text = textOf(document, schema);
      const report = series.reportOf(document, runs);
      const pages = { [`${kind}.md`]: renderMarkdown(report), [`${kind}.html`]: renderHtml(report) };
      writeSeriesFiles(folder, { [`${kind}.json`]: text, ...pages });
      return document;
    };
    while (!signal.aborted) {
      const next = await series.next(runs, earlier);
      if ('end' in next) {
        end = next.end;
        break;
      }
      const { key, label, left, restSeconds = 0 } = next;
      const last = runs.at(-1)?.run;
      const number = (last?.number ?? 0) + 1;
      // The remaining pause is limited to its configured length, because the clock may have been set back.
      const restMs = last ? Math.min(restSeconds * 1000, endOf(last) + restSeconds * 1000 - Date.now()) : 0;
      print(beginText(number, label, left, runs) + (restMs > 0 ? `; rests ${durationText(restMs / 1000)} first` : ''));
      await abortablePause(restMs, signal);
      if (signal.aborted) break;
      const { run, result, error } = await runOnce(number, () => series.commandOf(key), {
        ...{ artillery, conduct, folder, signal },
      });
      const made = { run: { ...run, ...key }, result };
      runs.push(made);
      write();
      print(endLines({ run, error }, series.outcomeOf(made), folder).join('\n'));
    }
    return { document: write(), runs };
  } finally {
    close();
  }
}

/**
 * Calls `runSeries` with the installed Artillery, with progress messages on standard error, and with a signal that
 * aborts on Ctrl-C.
 * @param conduct see `SeriesRunContext`
 * @throws CapacityError NOT_INSTALLED, and errors of `runSeries`
 */
export function runSeriesOnTerminal<Key, End, Document extends SeriesDocument<Key>>(
  series: SeriesDefinition<Key, End, Document>,
  conduct?: string[],
) {
  const artillery = artilleryScript();
  return untilStopped(async (signal) => {
    const made = await runSeries(series, {
      artillery,
      conduct,
      signal,
      print: (text) => console.error(escapeEachLine(text)),
    });
    return { ...made, isStopped: signal.aborted };
  });
}

/** Returns the time of a run's end, in milliseconds since 1970. */
function endOf({ startedAt, seconds }: SeriesRun): number {
  return Date.parse(startedAt) + seconds * 1000;
}

/** Returns whether a further call of the command would make no run and leave the document unchanged. */
async function isComplete<Key, End, Document extends SeriesDocument<Key>>(
  { kind, folder, schema, next, documentOf }: SeriesDefinition<Key, End, Document>,
  startedAt: string,
  runs: StartedRun<Key>[],
): Promise<boolean> {
  const step = runs.length === 0 ? undefined : await next(runs, runs.length);
  if (!step || !('end' in step)) return false;
  return textOf(documentOf(startedAt, runs, step.end), schema) === readFileSync(join(folder, `${kind}.json`), 'utf8');
}

function textOf<Document>(document: Document, schema: z.ZodType<Document>): string {
  return `${JSON.stringify(schema.parse(document), null, 1)}\n`;
}

/**
 * Returns the runs in the folder's document. Leaves out runs whose result file is missing. If no result file is left,
 * returns no runs, so the series starts from the beginning.
 */
function earlierRuns<Key, End, Document extends SeriesDocument<Key>>(
  series: SeriesDefinition<Key, End, Document>,
): { startedAt: string; runs: StartedRun<Key>[] } {
  const { kind, folder, schema } = series;
  const document = readSeriesDocument(folder, `${kind}.json`, schema);
  const hasResult = document?.runs.some(({ result }) => result !== null && existsSync(join(folder, result)));
  if (!document || !hasResult) return { startedAt: new Date().toISOString(), runs: [] };
  const requested = series.documentOf(document.startedAt, [], undefined);
  const changes = changesOf(series.identityOf(document), series.identityOf(requested));
  if (changes.length > 0) {
    throw new CapacityError(
      'SERIES_CHANGED',
      `the runs in ${folder} belong to another ${kind}:\n${changes.map((change) => `  ${change}`).join('\n')}`,
    );
  }
  const runs = document.runs.flatMap((run): StartedRun<Key>[] => {
    if (run.result === null) return [{ run, result: undefined }];
    const path = join(folder, run.result);
    return existsSync(path) ? [{ run, result: readResult(path) }] : [];
  });
  return { startedAt: document.startedAt, runs };
}

/** Returns a line for each difference, such as `repeat: was 2, is 3`. */
function changesOf(before: Record<string, unknown>, after: Record<string, unknown>): string[] {
  return Object.keys({ ...before, ...after }).flatMap((key) => {
    const [was, is] = [before, after].map((properties) => JSON.stringify(properties[key]) ?? 'unset');
    return was === is ? [] : [`${key}: was ${was}, is ${is}`];
  });
}

/** Returns a line such as `Run 3: TLS=on; 4 runs left, about 6 min`. */
function beginText(
  number: number,
  label: string,
  left: number | undefined,
  runs: { run: Pick<SeriesRun, 'exitCode' | 'seconds'> }[],
): string {
  if (left === undefined) return `Run ${number}: ${label}`;
  // The estimate uses the duration of the latest run, because runs with more connections can take longer.
  const { seconds } = runs.findLast(({ run }) => runEndingOf(run.exitCode) === 'measured')?.run ?? {};
  const time = seconds === undefined ? '' : `, about ${durationText(left * seconds)}`;
  return `Run ${number}: ${label}; ${countText(left, 'run')} left${time}`;
}

/**
 * Returns the lines that are printed at the end of a run.
 * @param outcome outcome of a measured run, followed by details
 * @param folder folder of the series
 */
function endLines({ run, error }: Pick<EndedRun, 'run' | 'error'>, outcome: string[], folder: string): string[] {
  const { number, exitCode, seconds } = run;
  const ending = runEndingOf(exitCode);
  const log = join(folder, 'logs', `${number}.log`);
  const [summary, ...details] =
    ending === 'measured' ? outcome : ending === 'stopped' ? [ending] : [ending, ...failureLines(error, log)];
  return [`  ${summary} after ${durationText(seconds)}`, ...details.map((line) => `    ${line}`)];
}

/**
 * Returns the text that a series prints at its end.
 * @param report rendered report
 */
export function seriesEndText({ kind, folder }: { kind: string; folder: string }, report: string): string {
  return [
    '',
    report,
    '',
    `Series: ${join(folder, `${kind}.json`)}`,
    `  in the same folder: ${kind}.md, ${kind}.html, runs/ and the output of each run in logs/`,
  ].join('\n');
}

function failureLines(error: CapacityError | undefined, log: string): string[] {
  return error ? describeError(error).split('\n') : [`${log} ends with:`, logTail(log, 5)];
}
