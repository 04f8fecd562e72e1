/** What the page on storms shows, from the runs of its study. */
import { join } from 'node:path';
import { integer } from '../../report/text/format.ts';
import { at, type Column, tenths } from './columns.ts';
import { type StudySection, studySection } from './combinations.ts';
import { type MeasuredStudy, readMeasuredStudy, STUDIES } from './measured.ts';

const STUDY = 'storms';

const COLUMNS: Column[] = [
  { title: 'Connections', value: at('fault.connections'), format: integer },
  { title: 'Dropped', value: at('fault.dropped'), format: integer },
  { title: 'Times that one dropped', value: at('fault.drops'), format: integer },
  { title: 'Back', value: at('fault.back'), format: integer },
  { title: 'Half of them back, ms', value: at('fault.backMs.p50'), format: integer },
  { title: '99 % back, ms', value: at('fault.backMs.p99'), format: integer },
  { title: 'All back, ms', value: at('fault.backMs.all'), format: integer },
  { title: 'Attempts', value: at('fault.attempts'), format: integer },
  { title: 'Peak attempts per s', value: at('fault.peakAttemptsPerSec'), format: integer },
  { title: 'Workers’ peak CPU, % of a core', value: at('fault.peakCpuPercent.worker'), format: tenths(0) },
  { title: 'Sessions restored', value: at('fault.recovered'), format: integer },
  { title: 'Copies due', value: at('fault.broadcasts.due'), format: integer },
  { title: 'Copies missed', value: at('fault.broadcasts.missed'), format: integer },
  { title: 'Copies sent again', value: at('fault.broadcasts.resent'), format: integer },
];

export declare const data: StudySection;

export default {
  watch: [`./${STUDY}/study.json`],
  load: (): StudySection => stormStudy(readMeasuredStudy(join(STUDIES, STUDY))),
};

export function stormStudy(measured: MeasuredStudy | undefined): StudySection {
  return studySection(STUDY, measured, COLUMNS);
}
