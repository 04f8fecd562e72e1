/** Data for pages about all runs. Computed once: the overview of the reports, growth, TLS, sizing, and the studies. */
import type { Result } from '../protocol/result/result.ts';
import { knownValueAt } from '../report/figures/figures.ts';
import { pingIntervalOf } from '../report/figures/idle-cpu.ts';
import { isUsable } from '../report/figures/measured-figures.ts';
import { tableHtml } from '../report/render/blocks.ts';
import { sizingTableNote, sizingTables } from '../report/search/search-page.ts';
import { computeSizing } from '../report/search/sizing.ts';
import { fitLine } from '../report/statistics/statistics.ts';
import { decimalsText, integerText, textOrDash } from '../report/text/format.ts';
import { at, figureCell, figureRow, figureTitle, inMarkdown, type SideBySide, sideBySide } from './figures.ts';
import { isValidAtDefaultPings, type Report, readReports } from './reports/reports.ts';
import { type MeasuredStudy, readMeasuredStudies, studySummary } from './studies/page.ts';
import { besideBenchmarkReport } from './studies/published/benchmark-report.ts';
import { byWebSocketServer, MEMORY_USAGE, wavesOverTime } from './studies/published/memory-usage.ts';
import { RACCOON } from './studies/published/raccoon.ts';
import { besideTechracers } from './studies/published/techracers.ts';

export default {
  watch: ['./reports/*/result.json', './studies/*/study.json'],
  load: () => siteData(readReports(), readMeasuredStudies()),
};

/** Data of the site. Tables are HTML. */
export declare const data: ReturnType<typeof siteData>;

function siteData(reports: Report[], studies: MeasuredStudy[]) {
  return {
    reports: overview(reports),
    growth: growth(reports),
    tls: tls(reports),
    sizing: machineSizing(reports),
    studies: studies.map(studySummary),
    published: publishedStudies(reports, studies),
  };
}

const OVERVIEW = [
  ...['connections.achievedRatePerSec', 'memory.perConnection.bytes', 'delivery.coverage', 'latency.completionMs.p50'],
];

/** Returns a table with a row for each run on the site. */
function overview(reports: Report[]) {
  return {
    head: ['Run', 'Verdict', ...OVERVIEW.map(figureTitle), 'Machine'],
    rows: reports.map(({ size, title, result }) => {
      const { verdict, answer } = result;
      const figures = OVERVIEW.map((path) => (isUsable(result) ? figureCell([result], path) : '–'));
      return { size, title, cells: [verdict.status, ...figures, answer.machine] };
    }),
  };
}

const MEMORY = ['workerPss', 'workerHeapUsed', 'nginxPss', 'redisUsedMemory', 'kernelSlab'].map(
  (layer) => `memory.perConnectionBytes.${layer}.slope`,
);
const CPU = ['rampSecondsPerThousandConnects', 'broadcastMicrosecondsPerMessage'].flatMap((key) =>
  ['worker', 'nginx', 'redis'].map((layer) => `cpu.${layer}.${key}`),
);
/** Costs of one connection or one copy. */
const COSTS = [...MEMORY, ...CPU];
const BY_SIZE = [
  ...['connections.achievedRatePerSec', 'machine.cpuIdlePercent.ramp', 'machine.cpuIdlePercent.broadcasts'],
  ...[...COSTS, 'connections.connectMs.p95', 'latency.completionMs.p50'],
];
const GROWTH: SideBySide['rows'] = [
  ['Processor', [], ({ environment }) => `${environment.cpu}, ${integerText(environment.cpuCount)} cores`],
  ['Ping interval, s', [], (result) => textOrDash(pingIntervalOf(result), (ms) => decimalsText(ms / 1000, 0))],
  ['Workers', [], ({ connections }) => integerText(Object.keys(connections.perWorker).length)],
];

/**
 * Returns a table with the costs of a connection and a message, for reports that differ only in size. Each cost has its
 * exponent.
 */
export function growth(reports: Report[]): string {
  const results = bySize(reports).map(({ result }) => result);
  const usable = results.filter(isUsable);
  const rows = BY_SIZE.map((path) => figureRow(path, [COSTS.includes(path) ? exponent(usable, path) : '']));
  const title = 'Figures by number of connections';
  const table = { title, published: ['exponent of the total'], rows: [...GROWTH, ...rows] };
  return inMarkdown(sideBySide(table, usable.length < 3 ? usable : [...usable, 0]));
}

/**
 * Returns the exponent e of total cost ~ connections^e with its 95 % interval. It is fitted to logarithms of the cost
 * per connection or copy. If e is 1, the size does not change this cost.
 */
function exponent(results: Result[], path: string): string {
  const points = results.flatMap((result) => {
    const cost = knownValueAt(result, path);
    return cost !== null && cost > 0 ? { x: Math.log(result.connections.target), y: Math.log(cost) } : [];
  });
  const line = points.length < 3 ? null : fitLine(points);
  if (!line || line.low95 === null) return '–';
  const [low, fitted, high] = [line.low95, line.slope, line.high95].map((slope) => decimalsText(1 + slope, 2));
  return `${fitted} (${low} to ${high})`;
}

function bySize(reports: Report[]): Report[] {
  return reports.filter(({ differences }) => differences.length === 0);
}

const TLS: SideBySide = {
  title: 'Figures without and with TLS',
  published: [],
  rows: [
    ['TLS', [], ({ run }) => (/^(https|wss):/.test(run.target) ? 'on' : 'off')],
    figureRow('memory.perConnectionBytes.nginxPss.slope'),
    figureRow('cpu.nginx.rampSecondsPerThousandConnects'),
    ['Fleet per connection, KB', [], at('memory.perConnectionBytes.fleetPss.slope', 'kilobytes')],
    ['Fleet CPU per 1,000 connects, s', [], at('cpu.fleet.rampSecondsPerThousandConnects', 'cpuSeconds')],
    figureRow('connections.connectMs.p50'),
  ],
};

/** Returns a table that compares each report with TLS with an otherwise equal report without TLS. */
export function tls(reports: Report[]): string {
  const pairs = reports.flatMap((secure) => {
    if (secure.differences.join() !== 'TLS') return [];
    const plain = reports.find(({ size }) => `${size}-tls` === secure.size);
    return plain && isUsable(plain.result) && isUsable(secure.result) ? [plain.result, secure.result] : [];
  });
  return inMarkdown(sideBySide(TLS, pairs));
}

/** Shares of each limit that stay free. */
const HEADROOMS = [0.3, 0.5];

/**
 * Returns the number of machines for a number of users. Based on the largest VALID report with Socket.IO's default ping
 * interval.
 * @param reports the smallest first
 * @returns undefined without such a report
 */
export function machineSizing(reports: Report[]) {
  const found = bySize(reports).findLast(
    (report) => isValidAtDefaultPings(report) && computeSizing(report.result, false, 0) !== null,
  );
  if (!found) return undefined;
  const { size, title, result } = found;
  const workers = Object.keys(result.connections.perWorker).length;
  // The argument `false` means that no level broke, because a report is a single run that held its target.
  const headrooms = HEADROOMS.flatMap((headroom) => {
    const sizing = computeSizing(result, false, headroom);
    if (!sizing) return [];
    const [table = '', limits = ''] = sizingTables(sizing).map((block) => tableHtml(block).markup);
    return { note: sizingTableNote(sizing, headroom), table, limits };
  });
  return {
    report: { title, link: `/reports/${size}`, verdict: result.verdict.status },
    machine: `${result.answer.machine}, which ran ${integerText(workers)} Socket.IO workers, nginx and Redis, and the load generator as well`,
    limits: headrooms[0]?.limits ?? '',
    headrooms: headrooms.map(({ note, table }) => ({ note, table })),
  };
}

type Published = 'benchmarkReport' | 'techracers' | 'memoryUsage' | 'webSocketServers' | 'waves' | 'raccoon';

/**
 * Returns tables that compare published studies with runs of this project.
 * @param studies studies of this project; one compares the WebSocket servers on Socket.IO's page
 */
export function publishedStudies(reports: Report[], studies: MeasuredStudy[]): Record<Published, string> {
  const usable = reports.filter(({ result }) => isUsable(result));
  const resultsWhere = (matches: (report: Report) => boolean) => usable.filter(matches).map(({ result }) => result);
  const sizes = bySize(usable).map(({ result }) => result);
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
  ) as Record<Published, string>;
}
