/** The tables of the page on the studies: their figures, and ours from all reports. */

import { isUsable } from '../../report/figures/measured-figures.ts';
import type { Html } from '../../report/render/markup.ts';
import { type Report, readReports } from '../reports/reports.ts';
import { linearity, overTime } from './memory-usage.ts';
import { contradictions, sideBySide } from './published-report.ts';
import { raccoonTable } from './raccoon.ts';
import { techracersTable } from './techracers.ts';

/** HTML of each. */
type Studies = Record<'sideBySide' | 'contradictions' | 'techracers' | 'linearity' | 'overTime' | 'raccoon', string>;

export declare const data: Studies;

export default { watch: ['../reports/*/result.json'], load: (): Studies => studies(readReports()) };

export function studies(reports: Report[]): Studies {
  const usable = reports.filter(({ result }) => isUsable(result));
  const results = usable.filter(({ differences }) => differences.length === 0).map(({ result }) => result);
  const again = usable.filter(({ size }) => size === 'techracers').map(({ result }) => result);
  const waves = usable.filter(({ result }) => result.memory.overTime?.kind === 'waves').map(({ result }) => result);
  const markup = ({ markup }: Html) => markup;
  return {
    sideBySide: markup(sideBySide(results)),
    contradictions: markup(contradictions()),
    techracers: markup(techracersTable([...again, ...results])),
    linearity: markup(linearity(results)),
    overTime: markup(overTime(waves, results)),
    raccoon: markup(raccoonTable(usable.map(({ result }) => result))),
  };
}
