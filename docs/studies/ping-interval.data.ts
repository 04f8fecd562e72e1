/** What the page on ping intervals shows, from the study's runs. */
import { join } from 'node:path';
import { dataTable, figure } from '../../report/render/blocks.ts';
import { circumstances } from './columns.ts';
import { type MeasuredStudy, readMeasuredStudy, STUDIES } from './measured.ts';
import { notesOf, type StudyNotes } from './notes.ts';
import { answerOf, levelsOf, pingChart, rowsOf } from './ping-interval.ts';

const STUDY = 'ping-interval';

export interface PingIntervals extends StudyNotes {
  /** Sentences; empty without a run. */
  answer: string[];
  chart: string;
  table: string;
  /** On what it was measured; empty without a run. */
  circumstances: string[];
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
    ...notesOf(STUDY, measured),
  };
}
