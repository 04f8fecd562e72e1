/** What the page on ping intervals shows, from the study's runs. */
import { join } from 'node:path';
import { dataTable, figure } from '../../report/html/section.ts';
import { questionsOf } from '../../report/study/summarize.ts';
import { doubtsOf, holesOf } from '../../report/study/text.ts';
import { circumstances } from './columns.ts';
import { fullStudy, type MeasuredStudy, readMeasuredStudy, STUDIES } from './measured.ts';
import { answerOf, levelsOf, pingChart, rowsOf } from './ping-interval.ts';

const STUDY = 'ping-interval';

export interface PingIntervals {
  /** Sentences; empty without a run. */
  answer: string[];
  chart: string;
  table: string;
  /** On what it was measured; empty without a run. */
  circumstances: string[];
  /** Combinations that lack runs, and what casts doubt on the comparison. */
  holes: string[];
  doubts: string[];
  /** Address of its study.html; null without a run. */
  full: string | null;
}

export declare const data: PingIntervals;

export default {
  watch: [`./${STUDY}/study.json`],
  load: (): PingIntervals => pingIntervals(readMeasuredStudy(join(STUDIES, STUDY))),
};

export function pingIntervals(measured: MeasuredStudy | undefined): PingIntervals {
  const levels = measured ? levelsOf(measured) : [];
  const { head, rows } = rowsOf(levels);
  return {
    answer: answerOf(levels),
    chart: figure(pingChart(levels), 'The study has not been run yet.').markup,
    table: rows.length > 0 ? dataTable('The ping intervals of the study', head, rows).markup : '',
    circumstances: circumstances(levels.flatMap(({ results }) => results)),
    holes: measured ? holesOf(measured.study) : [],
    doubts: measured ? doubtsOf(measured.runs, questionsOf(measured.study.plan, measured.runs)) : [],
    full: measured ? fullStudy(STUDY) : null,
  };
}
