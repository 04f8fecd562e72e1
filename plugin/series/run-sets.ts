/** Reads runs given on the command line: a result.json, the folder of a run, or a series. */
import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { CapacityError } from '../../protocol/codes/errors.ts';
import { studySchema } from '../../protocol/documents/study-schema.ts';
import type { RunSet } from '../../report/compare/compare.ts';
import { letter } from '../../report/compare/text.ts';
import { readResult } from '../../report/read.ts';
import { countedRuns } from '../../report/study/counted-runs.ts';
import { combinationsOf, labelOf, sideOf } from '../../report/study/summarize.ts';
import { readDocument } from './folder.ts';

/** Earlier versions wrote some studies as `repeat.json`. */
const DOCUMENTS = ['study.json', 'repeat.json'];

/**
 * @param path path of a run or series, or of one side of a series, such as `results/x:B`
 * @returns a set for each combination of levels of a series; otherwise one set with a single run
 * @throws CapacityError FILE_UNREADABLE, CONFIG_INVALID if a series has no such side, and errors of `readResult`
 */
export function readRunSets(path: string): RunSet[] {
  const [, series = path, side] = /^(.+):([A-Z])$/.exec(path) ?? [];
  const file = [series, ...DOCUMENTS.map((name) => join(series, name))].find(
    (found) => DOCUMENTS.includes(basename(found)) && existsSync(found),
  );
  if (file === undefined) return [{ name: path, results: [readResult(path)] }];
  const sets = setsIn(dirname(file), basename(file));
  if (side === undefined) return sets;
  const set = sets[side.charCodeAt(0) - 'A'.charCodeAt(0)];
  if (set) return [set];
  const fix = `choose one of\n${sets.map(({ name }) => `    ${name}`).join('\n')}`;
  throw new CapacityError('CONFIG_INVALID', `${series} has no side ${side}`, fix);
}

function setsIn(folder: string, name: string): RunSet[] {
  const document = readDocument(folder, name, studySchema);
  const combinations = document ? combinationsOf(document.plan) : [];
  const made = (document?.runs ?? []).map((run) => {
    return { run, result: run.result === null ? undefined : readResult(join(folder, run.result)) };
  });
  const runs = countedRuns(made);
  const sets = combinations.map((levels, index) => ({
    name: combinations.length === 1 ? folder : `${folder}:${letter(index)} (${labelOf(levels)})`,
    ...sideOf(runs, levels),
  }));
  // A side whose runs all crashed still counts, as lost.
  if (sets.some(({ results, lost }) => results.length + lost > 0)) return sets;
  const fix = 'repeat the series; the output of each run is in its folder logs/';
  throw new CapacityError('FILE_UNREADABLE', `none of the runs in ${folder} has a result`, fix);
}
