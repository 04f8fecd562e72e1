/** The tables of the page on the studies: their figures, and ours from all reports. */
import type { Html } from '../../report/html/html.ts';
import { isUsable } from '../../report/measured-figures.ts';
import { type Report, readReportsBySize } from '../reports/reports.ts';
import { linearity, overTime } from './memory-usage.ts';
import { contradictions, sideBySide } from './published-report.ts';
import { raccoonTable } from './raccoon.ts';
import { techracersTable } from './techracers.ts';

/** HTML of each. */
type Studies = Record<'sideBySide' | 'contradictions' | 'techracers' | 'linearity' | 'overTime' | 'raccoon', string>;

export declare const data: Studies;

export default { watch: ['../reports/*/result.json'], load: (): Studies => studies(readReportsBySize()) };

export function studies(reports: Report[]): Studies {
  const results = reports.map(({ result }) => result).filter(isUsable);
  const markup = ({ markup }: Html) => markup;
  return {
    sideBySide: markup(sideBySide(results)),
    contradictions: markup(contradictions()),
    techracers: markup(techracersTable(results)),
    linearity: markup(linearity(results)),
    overTime: markup(overTime(results)),
    raccoon: markup(raccoonTable(results)),
  };
}
