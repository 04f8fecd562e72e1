/** What the page on transports shows, from the runs of its two studies. */
import { join } from 'node:path';
import { figure } from '../../report/render/blocks.ts';
import { type StudySection, studySection } from './combinations.ts';
import { type MeasuredStudy, readMeasuredStudy, STUDIES } from './measured.ts';
import { answerOf, COLUMNS, clientsOf, connectChart } from './transports.ts';

const NAMES = ['transports', 'compression'];

export interface Transports extends StudySection {
  /** Sentences; empty without a run. */
  answer: string[];
  /** HTML; empty without a run. */
  chart: string;
}

export declare const data: Record<string, Transports>;

export default {
  watch: NAMES.map((name) => `./${name}/study.json`),
  load: (): Record<string, Transports> =>
    Object.fromEntries(NAMES.map((name) => [name, transportStudy(name, readMeasuredStudy(join(STUDIES, name)))])),
};

export function transportStudy(name: string, measured: MeasuredStudy | undefined): Transports {
  const clients = measured ? clientsOf(measured) : [];
  return {
    ...studySection(name, measured, COLUMNS),
    answer: answerOf(clients),
    chart: figure(connectChart(clients), '').markup,
  };
}
