/** What the page on storms shows, from the runs of its study. */
import { join } from 'node:path';
import { figure } from '../../report/render/blocks.ts';
import { type StudySection, studySection } from './combinations.ts';
import { type MeasuredStudy, readMeasuredStudy, STUDIES } from './measured.ts';
import { answerOf, COLUMNS, stormCharts, stormsOf } from './storms.ts';

const STUDY = 'storms';

export interface Storms extends StudySection {
  /** Sentences; empty without a run. */
  answer: string[];
  /** Charts as HTML; empty without a run. */
  back: string;
  missed: string;
}

export declare const data: Storms;

export default {
  watch: [`./${STUDY}/study.json`],
  load: (): Storms => stormStudy(readMeasuredStudy(join(STUDIES, STUDY))),
};

export function stormStudy(measured: MeasuredStudy | undefined): Storms {
  const storms = measured ? stormsOf(measured) : [];
  const { back, missed } = stormCharts(storms);
  return {
    ...studySection(STUDY, measured, COLUMNS),
    answer: answerOf(storms),
    back: figure(back, '').markup,
    missed: figure(missed, '').markup,
  };
}
