/** Data of the page on studies: our own studies, and published ones compared with our reports. */
import { isUsable } from '../../report/figures/measured-figures.ts';
import { inMarkdown, sideBySide } from '../figures.ts';
import { type Report, readReports } from '../reports/reports.ts';
import { type MeasuredStudy, readMeasuredStudies, studySummary } from './page.ts';
import { besideBenchmarkReport } from './published/benchmark-report.ts';
import { byWebSocketServer, MEMORY_USAGE, wavesOverTime } from './published/memory-usage.ts';
import { RACCOON } from './published/raccoon.ts';
import { besideTechracers } from './published/techracers.ts';

interface Studies {
  own: ReturnType<typeof studySummary>[];
  /** HTML by study. */
  published: Record<
    'benchmarkReport' | 'techracers' | 'memoryUsage' | 'webSocketServers' | 'waves' | 'raccoon',
    string
  >;
}

export declare const data: Studies;

export default {
  watch: ['../reports/*/result.json', './*/study.json'],
  load: (): Studies => {
    const studies = readMeasuredStudies();
    return { own: studies.map(studySummary), published: publishedStudies(readReports(), studies) };
  },
};

/** @param studies our own; one compares the WebSocket servers of Socket.IO's page */
export function publishedStudies(reports: Report[], studies: MeasuredStudy[]): Studies['published'] {
  const usable = reports.filter(({ result }) => isUsable(result));
  const resultsWhere = (matches: (report: Report) => boolean) => usable.filter(matches).map(({ result }) => result);
  const sizes = resultsWhere(({ differences }) => differences.length === 0);
  const [techracers] = resultsWhere(({ size }) => size === 'techracers');
  const servers = studies.find(({ study }) => study.name === 'websockets');
  const tables = {
    benchmarkReport: besideBenchmarkReport(sizes),
    techracers: techracers && besideTechracers(techracers),
    memoryUsage: sideBySide(MEMORY_USAGE, sizes),
    webSocketServers: servers && byWebSocketServer(servers),
    waves: wavesOverTime(resultsWhere(({ result }) => result.memory.overTime?.kind === 'waves')),
    raccoon: sideBySide(RACCOON, [0, 1, 2, 3, 4, ...resultsWhere(({ result }) => result.messages !== null)]),
  };
  return Object.fromEntries(
    Object.entries(tables).map(([name, table]) => [name, table ? inMarkdown(table) : '']),
  ) as Studies['published'];
}
