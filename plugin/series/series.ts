/**
 * The runner of many runs. A command says which run comes next, given those so far; the runner makes it, records how it ended, and
 * rewrites the documents after each, so that the same command resumes a series that was stopped.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { z } from 'zod';
import type { SeriesRun } from '../../protocol/documents/series.ts';
import { CapacityError } from '../../protocol/errors.ts';
import type { Result } from '../../protocol/result/result.ts';
import { readResult } from '../../report/read.ts';
import { openFolder, readDocument, writeDocuments } from './folder.ts';
import { beginText, endLines } from './progress.ts';
import { makeRun, type RunCommand, type Surroundings } from './run.ts';

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
      /** Runs until the end, with this one, at most; undefined where nobody knows. */
      left: number | undefined;
    }
  | { end: End };

interface SeriesDocument<Key> {
  startedAt: string;
  runs: (SeriesRun & Key)[];
}

/** What a command wants to be run. */
export interface Series<Key, End, Document extends SeriesDocument<Key>> {
  /** Its document is `<kind>.json`. */
  kind: string;
  folder: string;
  schema: z.ZodType<Document>;
  /** @returns a line for each difference to the series in the folder; its runs cannot be used then */
  changesSince(earlier: Document): string[];
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
  /** @returns further documents by file name */
  pagesOf(document: Document, runs: MadeRun<Key>[]): Record<string, string>;
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
  const close = openFolder(folder);
  try {
    const { startedAt, runs } = earlierRuns(series);
    const earlier = runs.length;
    if (earlier > 0) say(`Resumes after ${earlier} earlier ${earlier === 1 ? 'run' : 'runs'}.`);
    let end: End | undefined;
    const write = () => {
      const document = series.documentOf(startedAt, runs, end);
      const text = `${JSON.stringify(schema.parse(document), null, 1)}\n`;
      writeDocuments(folder, { [`${kind}.json`]: text, ...series.pagesOf(document, runs) });
      return document;
    };
    while (!signal.aborted) {
      const next = await series.next(runs, earlier);
      if ('end' in next) {
        end = next.end;
        break;
      }
      const { key, label, left } = next;
      const number = (runs.at(-1)?.run.number ?? 0) + 1;
      say(beginText(number, label, left, runs));
      const { run, result } = await makeRun(number, () => series.commandOf(key), { artillery, folder, signal });
      const made = { run: { ...run, ...key }, result };
      runs.push(made);
      write();
      say(endLines(run, series.outcomeOf(made), folder).join('\n'));
    }
    return { document: write(), runs };
  } finally {
    close();
  }
}

/** Runs whose result is no longer there do not count. */
function earlierRuns<Key, End, Document extends SeriesDocument<Key>>(
  series: Series<Key, End, Document>,
): { startedAt: string; runs: MadeRun<Key>[] } {
  const { kind, folder, schema } = series;
  const document = readDocument(folder, `${kind}.json`, schema);
  if (!document) return { startedAt: new Date().toISOString(), runs: [] };
  const changes = series.changesSince(document);
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
