/** The studies that the site shows: `docs/studies/<name>/`, put there by `add.ts`. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Study, studySchema } from '../../protocol/documents/study.ts';
import { readResult } from '../../report/read.ts';
import type { MeasuredRun } from '../../report/study/summarize.ts';

export interface MeasuredStudy {
  study: Study;
  /** In the order of `study.runs`. */
  runs: MeasuredRun[];
}

export const STUDIES = fileURLToPath(new URL('.', import.meta.url));

/** @returns where the built site has the study.html of a study: beside its page, whose address has no folder */
export function fullStudy(name: string): string {
  return `/studies/${name}/study.html`;
}

/**
 * @param folder of a study, as `npx socketio-capacity study` leaves it, or as `add.ts` does
 * @returns undefined if there is none
 * @throws if study.json is not valid; CapacityError of `readResult`
 */
export function readMeasuredStudy(folder: string): MeasuredStudy | undefined {
  const path = join(folder, 'study.json');
  if (!existsSync(path)) return undefined;
  const study = studySchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  const runs = study.runs.map(({ levels, result }) => ({
    levels,
    result: result === null ? undefined : readResult(join(folder, result)),
  }));
  return { study, runs };
}

export function readMeasuredStudies(): MeasuredStudy[] {
  return readdirSync(STUDIES, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => readMeasuredStudy(join(STUDIES, name)) ?? []);
}
