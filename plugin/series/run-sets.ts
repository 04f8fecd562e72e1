/** Reads the runs named on the command line: a result.json, the folder of a run, or a series. */
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

/** Earlier versions had `repeat.json` for some studies. */
const DOCUMENTS = ['study.json', 'repeat.json'];

/**
 * @param path also of one side of a series: `results/x:B`
 * @returns a set for each combination of levels of a series; otherwise one with a single run
 * @throws CapacityError FILE_UNREADABLE, CONFIG_INVALID where a series has no such side, and those of `readResult`
 */
export function readRunSets(path: string): RunSet[] {
  const [, whole = path, side] = /^(.+):([A-Z])$/.exec(path) ?? [];
  const file = [whole, ...DOCUMENTS.map((name) => join(whole, name))].find(
    (found) => DOCUMENTS.includes(basename(found)) && existsSync(found),
  );
  if (file === undefined) return [{ name: path, results: [readResult(path)] }];
  const sets = setsIn(dirname(file), basename(file));
  if (side === undefined) return sets;
  const set = sets[side.charCodeAt(0) - 'A'.charCodeAt(0)];
  if (set) return [set];
  const fix = `name one of\n${sets.map(({ name }) => `    ${name}`).join('\n')}`;
  throw new CapacityError('CONFIG_INVALID', `${whole} has no side ${side}`, fix);
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
  // Those of which nothing is left are worse than any others.
  if (sets.some(({ results, lost }) => results.length + lost > 0)) return sets;
  const fix = 'repeat it; the output of each run is in logs/ beside it';
  throw new CapacityError('FILE_UNREADABLE', `none of the runs in ${folder} has a result`, fix);
}
