/**
 * `node docs/studies/add.ts <folder>` puts a study on the site, from the folder that it was run in: its study.json and the
 * result of each run go to `docs/studies/<name>/`, from which its page and its study.html are made.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { keptOfStudyRun, serialize } from '../kept.ts';
import { type MeasuredStudy, readMeasuredStudy, STUDIES } from './measured.ts';

/** Replaces what was in the folder of that study before. @param to the folder that gets one for each study */
export function addStudy({ study, runs }: MeasuredStudy, to: string): string {
  const folder = join(to, study.name);
  rmSync(join(folder, 'runs'), { recursive: true, force: true });
  mkdirSync(join(folder, 'runs'), { recursive: true });
  const results = runs.map(({ result }, index) => {
    if (!result) return null;
    const path = `runs/${study.runs[index]?.number}.json`;
    writeFileSync(join(folder, path), serialize(keptOfStudyRun(result)));
    return path;
  });
  // The pages compute combinations and differences from the runs.
  const kept = { ...study, combinations: [], differences: [] };
  const moved = { ...kept, runs: study.runs.map((run, index) => ({ ...run, result: results[index] ?? null })) };
  writeFileSync(join(folder, 'study.json'), serialize(moved));
  return folder;
}

if (import.meta.main) {
  const [from] = process.argv.slice(2);
  const measured = from === undefined ? undefined : readMeasuredStudy(from);
  if (!measured) {
    console.error('usage: node docs/studies/add.ts <folder>, for example: add.ts results/study-websockets');
    process.exit(2);
  }
  console.log(addStudy(measured, STUDIES));
}
