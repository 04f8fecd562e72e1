/** What the page on adapters shows, from the runs of its studies. */
import { join } from 'node:path';
import type { Result } from '../../protocol/result/result.ts';
import { COLUMNS } from './adapters.ts';
import { type StudySection, studySection } from './combinations.ts';
import { type MeasuredStudy, readMeasuredStudy, STUDIES } from './measured.ts';

const NAMES = ['adapters', 'adapter-workers', 'payloads', 'redis-cluster'];

export declare const data: Record<string, StudySection>;

export default {
  watch: NAMES.map((name) => `./${name}/study.json`),
  load: (): Record<string, StudySection> =>
    Object.fromEntries(NAMES.map((name) => [name, adapterStudy(name, readMeasuredStudy(join(STUDIES, name)))])),
};

export function adapterStudy(name: string, measured: MeasuredStudy | undefined): StudySection {
  return studySection(name, measured, COLUMNS, versions);
}

function versions(results: Result[]): string[] {
  const all = (values: (string | undefined)[]) => [...new Set(values)].filter(Boolean).join(', ');
  const adapters = results.map(({ environment }) => environment.versions.adapter);
  return [`Redis ${all(results.map(({ redis }) => redis?.version))}; ${all(adapters)}.`];
}
