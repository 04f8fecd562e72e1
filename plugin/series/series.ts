/**
 * The runner of many runs. A command says which run comes next, given those so far; the runner makes it, records how it ended, and
 * rewrites the documents after each, so that the same command resumes a series that was stopped. A series that is complete is set
 * aside, so that a command never passes old figures off as new ones.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { z } from 'zod';
import { harmless } from '../../protocol/base/printable.ts';
import { CapacityError, describeError } from '../../protocol/codes/errors.ts';
import { endingOf, type SeriesRun } from '../../protocol/documents/series-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import type { Document as Report } from '../../report/model/document.ts';
import { readResult } from '../../report/read.ts';
import { renderMarkdown } from '../../report/render/markdown.ts';
import { counted, durationText } from '../../report/text/format.ts';
import { logTail } from '../../server/stack/logs.ts';
import { pause } from '../run/wait.ts';
import { artilleryScript, untilStopped } from './artillery-arguments.ts';
import { openFolder, readDocument, setAside, writeDocuments } from './folder.ts';
import { type EndedRun, makeRun, type RunCommand, type Surroundings } from './series-run.ts';

/** A run that was started, with its result if it left one. `Key` says which one it is, such as its level. */
export interface MadeRun<Key> {
  run: SeriesRun & Key;
  result: Result | undefined;
}

export type Next<Key, End> =
  | {
      key: Key;
      /** For the progress. */
      label: string;
      /** Runs until the end, with this one, at most; undefined if unknown. */
      left: number | undefined;
      /** Since the end of the last run. */
      restSeconds?: number;
    }
  | { end: End };

interface SeriesDocument<Key> {
  startedAt: string;
  runs: (SeriesRun & Key)[];
}

/** What a command wants to be run. */
export interface Series<Key, End, Document extends SeriesDocument<Key>> {
  /** Its documents are `<kind>.json`, `.md` and `.html`. */
  kind: string;
  folder: string;
  schema: z.ZodType<Document>;
  /** @returns what all runs of a document have in common, by name: those of another one cannot be used */
  identityOf(document: Document): Record<string, unknown>;
  /**
   * Follows from the runs alone, so that a series that is resumed continues.
   * @param runs all that were started, in their order
   * @param earlier how many of them an earlier start has made: what ended that one is tried again
   */
  next(runs: MadeRun<Key>[], earlier: number): Next<Key, End> | Promise<Next<Key, End>>;
  /** @throws CapacityError if the run cannot be made: that is how it ends */
  commandOf(key: Key): RunCommand;
  /** @returns for the progress, what came of a run that was measured, and details */
  outcomeOf(made: MadeRun<Key>): string[];
  /** @param end undefined while the series is not finished */
  documentOf(startedAt: string, runs: MadeRun<Key>[], end: End | undefined): Document;
  /** What people read of it: beside the document as Markdown and HTML. */
  reportOf(document: Document, runs: MadeRun<Key>[]): Report;
}

interface Runner extends Pick<Surroundings, 'artillery' | 'signal'> {
  /** Takes lines of progress. */
  say(text: string): void;
}

/**
 * Makes runs until the series has ended, or the signal aborts.
 * @throws CapacityError IN_USE, SERIES_CHANGED, FILE_UNREADABLE, FILE_UNWRITABLE
 */
export async function runSeries<Key, End, Document extends SeriesDocument<Key>>(
  series: Series<Key, End, Document>,
  { artillery, signal, say }: Runner,
): Promise<{ document: Document; runs: MadeRun<Key>[] }> {
  const { kind, folder, schema } = series;
  // Loaded on demand, because it loads the chart library, which is slow.
  const { renderHtml } = await import('../../report/render/html.ts');
  const close = openFolder(folder);
  try {
    let { startedAt, runs } = earlierRuns(series);
    if (await isComplete(series, startedAt, runs)) {
      say(`The earlier ${kind} is complete, and now in ${setAside(folder, startedAt)}. This one begins anew.`);
      [startedAt, runs] = [new Date().toISOString(), []];
    }
    const earlier = runs.length;
    if (earlier > 0) say(`Resumes after ${earlier} earlier ${earlier === 1 ? 'run' : 'runs'}.`);
    let end: End | undefined;
    const write = () => {
      const document = series.documentOf(startedAt, runs, end);
      const text = textOf(document, schema);
      const report = series.reportOf(document, runs);
      const pages = { [`${kind}.md`]: renderMarkdown(report), [`${kind}.html`]: renderHtml(report) };
      writeDocuments(folder, { [`${kind}.json`]: text, ...pages });
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
      // A clock that was set back makes no rest longer.
      const restMs = last ? Math.min(restSeconds * 1000, endOf(last) + restSeconds * 1000 - Date.now()) : 0;
      say(beginText(number, label, left, runs) + (restMs > 0 ? `; rests ${durationText(restMs / 1000)} before` : ''));
      await pause(restMs, signal);
      if (signal.aborted) break;
      const { run, result, error } = await makeRun(number, () => series.commandOf(key), { artillery, folder, signal });
      const made = { run: { ...run, ...key }, result };
      runs.push(made);
      write();
      say(endLines({ run, error }, series.outcomeOf(made), folder).join('\n'));
    }
    return { document: write(), runs };
  } finally {
    close();
  }
}

/**
 * As `runSeries`, with Artillery, until Ctrl-C, and progress on standard error.
 * @throws CapacityError NOT_INSTALLED, and those of `runSeries`
 */
export function makeSeries<Key, End, Document extends SeriesDocument<Key>>(series: Series<Key, End, Document>) {
  const artillery = artilleryScript();
  return untilStopped(async (signal) => {
    const made = await runSeries(series, { artillery, signal, say: (text) => console.error(harmless(text)) });
    return { ...made, isStopped: signal.aborted };
  });
}

/** @returns milliseconds since 1970 */
function endOf({ startedAt, seconds }: SeriesRun): number {
  return Date.parse(startedAt) + seconds * 1000;
}

/** Whether another start would make no run and would leave the document as it is. */
async function isComplete<Key, End, Document extends SeriesDocument<Key>>(
  { kind, folder, schema, next, documentOf }: Series<Key, End, Document>,
  startedAt: string,
  runs: MadeRun<Key>[],
): Promise<boolean> {
  const step = runs.length === 0 ? undefined : await next(runs, runs.length);
  if (!step || !('end' in step)) return false;
  return textOf(documentOf(startedAt, runs, step.end), schema) === readFileSync(join(folder, `${kind}.json`), 'utf8');
}

function textOf<Document>(document: Document, schema: z.ZodType<Document>): string {
  return `${JSON.stringify(schema.parse(document), null, 1)}\n`;
}

/** Runs whose result is no longer there do not count, and without any result nothing is there to resume. */
function earlierRuns<Key, End, Document extends SeriesDocument<Key>>(
  series: Series<Key, End, Document>,
): { startedAt: string; runs: MadeRun<Key>[] } {
  const { kind, folder, schema } = series;
  const document = readDocument(folder, `${kind}.json`, schema);
  const hasResult = document?.runs.some(({ result }) => result !== null && existsSync(join(folder, result)));
  if (!document || !hasResult) return { startedAt: new Date().toISOString(), runs: [] };
  const asked = series.documentOf(document.startedAt, [], undefined);
  const changes = changesOf(series.identityOf(document), series.identityOf(asked));
  if (changes.length > 0) {
    throw new CapacityError(
      'SERIES_CHANGED',
      `the runs in ${folder} are of another ${kind}:\n${changes.map((change) => `  ${change}`).join('\n')}`,
    );
  }
  const runs = document.runs.flatMap((run): MadeRun<Key>[] => {
    if (run.result === null) return [{ run, result: undefined }];
    const path = join(folder, run.result);
    return existsSync(path) ? [{ run, result: readResult(path) }] : [];
  });
  return { startedAt: document.startedAt, runs };
}

/** @returns one line for each difference, such as `repeat: was 2, is 3` */
function changesOf(before: Record<string, unknown>, after: Record<string, unknown>): string[] {
  return Object.keys({ ...before, ...after }).flatMap((key) => {
    const [was, is] = [before, after].map((one) => JSON.stringify(one[key]) ?? 'not there');
    return was === is ? [] : [`${key}: was ${was}, is ${is}`];
  });
}

/** @returns `Run 3: TLS=on; 4 runs left, about 6 min` */
function beginText(
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
function endLines({ run, error }: Pick<EndedRun, 'run' | 'error'>, outcome: string[], folder: string): string[] {
  const { number, exitCode, seconds } = run;
  const ending = endingOf(exitCode);
  const log = join(folder, 'logs', `${number}.log`);
  const [what, ...details] =
    ending === 'measured' ? outcome : ending === 'stopped' ? [ending] : [ending, ...failureLines(error, log)];
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

function failureLines(error: CapacityError | undefined, log: string): string[] {
  return error ? describeError(error).split('\n') : [`${log} ends with:`, logTail(log, 5)];
}
