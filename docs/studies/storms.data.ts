/** What the page on storms shows, from the runs of its study. */
import { join } from 'node:path';
import { integer } from '../../report/text/format.ts';
import { type Column, column, tenths } from './columns.ts';
import { type StudySection, studySection } from './combinations.ts';
import { type MeasuredStudy, readMeasuredStudy, STUDIES } from './measured.ts';

const STUDY = 'storms';

const COLUMNS: Column[] = [
  column('Connections', 'fault.connections', integer),
  column('Dropped', 'fault.dropped', integer),
  column('Times that one dropped', 'fault.drops', integer),
  column('Back', 'fault.back', integer),
  column('Half of them back, ms', 'fault.backMs.p50', integer),
  column('99 % back, ms', 'fault.backMs.p99', integer),
  column('All back, ms', 'fault.backMs.all', integer),
  column('Attempts', 'fault.attempts', integer),
  column('Peak attempts per s', 'fault.peakAttemptsPerSec', integer),
  column('Workers’ peak CPU, % of a core', 'fault.peakCpuPercent.worker', tenths(0)),
  column('Sessions restored', 'fault.recovered', integer),
  column('Copies due', 'fault.broadcasts.due', integer),
  column('Copies missed', 'fault.broadcasts.missed', integer),
  column('Copies sent again', 'fault.broadcasts.resent', integer),
];

export declare const data: StudySection;

export default {
  watch: [`./${STUDY}/study.json`],
  load: (): StudySection => stormStudy(readMeasuredStudy(join(STUDIES, STUDY))),
};

export function stormStudy(measured: MeasuredStudy | undefined): StudySection {
  return studySection(STUDY, measured, COLUMNS);
}
