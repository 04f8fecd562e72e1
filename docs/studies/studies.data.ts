/** What the page on the studies shows: our own, and published ones beside our reports. */
import { isUsable } from '../../report/figures/measured-figures.ts';
import { inMarkdown, sideBySide } from '../figures.ts';
import { type Report, readReports } from '../reports/reports.ts';
import { readMeasuredStudies, studySummary } from './page.ts';
import { besideBenchmarkReport, MEMORY_USAGE, RACCOON, TECHRACERS, wavesOverTime } from './published.ts';

interface Studies {
  own: ReturnType<typeof studySummary>[];
  /** HTML of each. */
  published: Record<'benchmarkReport' | 'techracers' | 'memoryUsage' | 'waves' | 'raccoon', string>;
}

export declare const data: Studies;

export default {
  watch: ['../reports/*/result.json', './*/study.json'],
  load: (): Studies => ({ own: readMeasuredStudies().map(studySummary), published: publishedStudies(readReports()) }),
};

export function publishedStudies(reports: Report[]): Studies['published'] {
  const usable = reports.filter(({ result }) => isUsable(result));
  const those = (wanted: (report: Report) => boolean) => usable.filter(wanted).map(({ result }) => result);
  const sizes = those(({ differences }) => differences.length === 0);
  const tables = {
    benchmarkReport: besideBenchmarkReport(sizes),
    techracers: sideBySide(TECHRACERS, [0, ...those(({ size }) => size === 'techracers'), ...sizes]),
    memoryUsage: sideBySide(MEMORY_USAGE, sizes),
    waves: wavesOverTime(those(({ result }) => result.memory.overTime?.kind === 'waves')),
    raccoon: sideBySide(RACCOON, [0, 1, 2, 3, 4, ...those(({ result }) => result.messages !== null)]),
  };
  return Object.fromEntries(
    Object.entries(tables).map(([name, table]) => [name, table ? inMarkdown(table) : '']),
  ) as Studies['published'];
}
