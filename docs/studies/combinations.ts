/** A study's table: a row for each combination of levels, and in each column the figure of its runs. */

import type { Levels } from '../../protocol/documents/study.ts';
import type { Result } from '../../protocol/result/result.ts';
import { isUsable } from '../../report/figures/measured-figures.ts';
import { dataTable } from '../../report/render/blocks.ts';
import { combinationsOf } from '../../report/study/summarize.ts';
import { type Column, cell, circumstances, spreadIn } from './columns.ts';
import type { MeasuredStudy } from './measured.ts';
import { notesOf, type StudyNotes } from './notes.ts';

/** What a page shows of one study. */
export interface StudySection extends StudyNotes {
  /** HTML; a sentence without a run. */
  table: string;
  /** On what it was measured; empty without a run. */
  circumstances: string[];
}

interface Combination {
  levels: Levels;
  /** Usable runs. */
  results: Result[];
}

/** Short names for the head of a table. */
const TITLES: Record<string, string> = {
  CAPACITY_ADAPTER: 'Adapter',
  CAPACITY_RECOVERY_SECONDS: 'Recovery, s',
  workers: 'Workers',
  ROOMS: 'Rooms',
  REDIS_NODES: 'Redis nodes',
  TRANSPORTS: 'Transports',
  COMPRESSION: 'Compression',
  CAPACITY_WEBSOCKETS: 'Server',
  'broadcasts.bytes': 'Bytes',
  'broadcasts.binary': 'Binary',
  'fault.kind': 'Fault',
  'engine.reconnection.jitter': 'Jitter',
};

/** @param more sentences about the circumstances, from the usable runs */
export function studySection(
  name: string,
  measured: MeasuredStudy | undefined,
  columns: Column[],
  more: (results: Result[]) => string[] = () => [],
): StudySection {
  if (!measured) {
    return { table: '<p>The study has not been run yet.</p>', circumstances: [], ...notesOf(name, measured) };
  }
  const combinations = combinationsIn(measured);
  const results = combinations.flatMap((one) => one.results);
  // What nobody measured is no column.
  const shown = columns.filter((column) => spreadIn(column, results) !== null);
  const varied = variedIn(measured);
  const head = [...varied.map((key) => TITLES[key] ?? key), 'Runs', ...shown.map(({ title }) => title)];
  const rows = combinations.map(({ levels, results: own }) => [
    ...varied.map((key) => String(levels[key])),
    own.map(({ verdict }) => verdict.status).join(', ') || 'no run',
    ...shown.map((column) => cell(column, own)),
  ]);
  return {
    table: dataTable(measured.study.title, head, rows).markup,
    circumstances: results.length > 0 ? [...circumstances(results), ...more(results)] : [],
    ...notesOf(name, measured),
  };
}

/** @returns the names of the study that vary */
function variedIn({ study }: MeasuredStudy): string[] {
  return Object.entries(study.plan.vary).flatMap(([name, levels]) => (levels.length > 1 ? [name] : []));
}

/** @returns the study's combinations in its order, also those without a run that can be used */
export function combinationsIn(measured: MeasuredStudy): Combination[] {
  const varied = variedIn(measured);
  return combinationsOf(measured.study.plan).map((levels) => ({
    levels,
    results: measured.runs.flatMap((run) =>
      run.result && isUsable(run.result) && varied.every((name) => run.levels[name] === levels[name])
        ? [run.result]
        : [],
    ),
  }));
}

/** @param level as YAML reads it: `on` can be a word or true */
export function isOn(level: unknown): boolean {
  return level === true || level === 'on';
}
