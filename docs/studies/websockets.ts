/** The study of WebSocket servers: a row for each, from its runs, beside what Socket.IO's page on memory usage shows. */
import type { Result } from '../../protocol/result/result.ts';
import { bottomAxis, short, valueAxis } from '../../report/charts/axes.ts';
import { type Chart, LINE_WIDTH } from '../../report/charts/chart.ts';
import { COLORS } from '../../report/charts/palette.ts';
import { decimals, kilobytes, milliseconds } from '../../report/text/format.ts';
import { type Column, cell, column, microsecondsPerPing, resultsAt, slope, spreadIn, tenths } from './columns.ts';
import { combinationsIn, isOn } from './combinations.ts';
import type { MeasuredStudy } from './measured.ts';
import { MEMORY_USAGE_CHART } from './published.ts';

const MB = 1024 ** 2;
const NAME = 'CAPACITY_WEBSOCKETS';
const COLORS_OF_SERVERS = [COLORS.blue, COLORS.orange, COLORS.green, COLORS.purple];

interface Server {
  level: string;
  title: string;
  color: string;
  /** Usable runs. */
  results: Result[];
}

export const HEAP = slope('workerHeapUsed', 'V8 heap');
export const PSS = slope('workerPss', 'PSS');

const COPY = column('CPU per copy of a broadcast, µs', 'cpu.worker.broadcastMicrosecondsPerMessage', tenths(1));

export const COLUMNS: Column[] = [
  HEAP,
  slope('workerExternal', 'External'),
  PSS,
  slope('workerRss', 'RSS'),
  column('CPU per 1,000 connects, s', 'cpu.worker.rampSecondsPerThousandConnects', tenths(2)),
  { title: 'CPU per ping, µs', value: microsecondsPerPing('worker', 'idlePercent'), format: tenths(0) },
  COPY,
  column('One way p50, ms', 'latency.oneWayMs.p50', milliseconds),
  column('Last receiver p50, ms', 'latency.completionMs.p50', milliseconds),
];

/** @returns the levels of the study in its order, also those without a run that can be used */
export function serversOf(measured: MeasuredStudy): Server[] {
  return (measured.study.plan.vary[NAME] ?? []).map(String).map((level, index) => ({
    level,
    title: level === 'plain-ws' ? 'plain ws, no Socket.IO' : `Socket.IO on ${level}`,
    color: COLORS_OF_SERVERS[index % COLORS_OF_SERVERS.length] as string,
    results: resultsAt(measured, NAME, level),
  }));
}

/** @returns a row for each server: what it is, its runs, its figures, and what the page shows */
export function rowsOf(servers: Server[]): { head: string[]; rows: string[][] } {
  const rows = servers.map(({ level, title, results }) => [
    title,
    results[0]?.environment.versions.webSocketEngine ?? '–',
    results.map(({ verdict }) => verdict.status).join(', ') || 'no run',
    ...COLUMNS.map((column) => cell(column, results)),
    publishedOf(level),
  ]);
  const head = ['Server', 'Version', 'Runs', ...COLUMNS.map(({ title }) => title), 'Socket.IO’s page: V8 heap, KB'];
  return { head, rows };
}

/** The question of that page: on what does the memory of a connection depend, and how much does Socket.IO add? */
export function answerOf(servers: Server[]): string[] {
  const [heap, pss] = [HEAP, PSS].map((column) =>
    servers.flatMap(({ title, results }) => {
      const spread = spreadIn(column, results);
      return spread ? [`${title} ${kilobytes(spread.mean)}`] : [];
    }),
  ) as [string[], string[]];
  if (heap.length === 0) return [];
  const straight = servers.flatMap(({ results }) =>
    results.flatMap((result) => result.memory.perConnectionBytes.workerHeapUsed?.r2 ?? []),
  );
  return [
    `V8 heap per connection, KB: ${heap.join('; ')}. PSS, which includes what C++ keeps, KB: ${pss.join('; ')}.`,
    ...added(servers),
    // Rounded down, so that only a perfect line is 1.
    `The heap grows linearly in all runs: the lowest R² is ${decimals(Math.floor(Math.min(...straight) * 1000) / 1000, 3)}.`,
  ];
}

/** What permessage-deflate adds on each server, where both sides were measured. */
export function compressionAnswer(measured: MeasuredStudy): string[] {
  const combinations = combinationsIn(measured);
  return serversOf(measured).flatMap(({ level, title }) => {
    const of = (column: Column, compressed: boolean) => {
      const found = combinations.find(
        ({ levels }) => String(levels[NAME]) === level && isOn(levels.COMPRESSION) === compressed,
      );
      return found && spreadIn(column, found.results)?.mean;
    };
    const [without, with_] = [of(PSS, false), of(PSS, true)];
    const [plain, compressed] = [of(COPY, false), of(COPY, true)];
    if (without === undefined || with_ === undefined || plain === undefined || compressed === undefined) return [];
    return [
      `${title}: ${kilobytes(with_)} KB of PSS per connection instead of ${kilobytes(without)}, and ${COPY.format(compressed)} µs of CPU per copy of a broadcast instead of ${COPY.format(plain)}.`,
    ];
  });
}

function added(servers: Server[]): string[] {
  const of = (level: string, column: Column) =>
    spreadIn(column, servers.find((server) => server.level === level)?.results ?? [])?.mean;
  const text = (column: Column) => {
    const [with_, without] = [of('ws', column), of('plain-ws', column)];
    return with_ === undefined || without === undefined
      ? []
      : [`${kilobytes(with_ - without)} of ${kilobytes(with_)} KB`];
  };
  const [heap, pss] = [text(HEAP), text(PSS)];
  if (heap.length === 0) return [];
  return [`On ws, Socket.IO and Engine.IO add ${heap[0]} of heap${pss.length > 0 ? `, and ${pss[0]} of PSS` : ''}.`];
}

/** Plateaus of all runs, and the mean of each at the same number of connections as a line. */
export function memoryChart(servers: Server[], layer: 'workerHeapUsed' | 'workerPss', title: string): Chart | null {
  const drawn = servers.filter(({ results }) => results.length > 0);
  if (drawn.length === 0) return null;
  const legend = drawn.map(({ title: name, color }) => ({ name, color }));
  return {
    title,
    legend,
    height: 320,
    option: () => ({
      grid: { left: 60, right: 24, top: 36, bottom: 46 },
      xAxis: bottomAxis('connections', short),
      yAxis: { ...valueAxis('MB', short), min: 0 },
      series: drawn.flatMap(({ color, results }) => {
        const points = results.flatMap(({ memory }) =>
          memory.plateaus.flatMap(({ connections, [layer]: bytes }) =>
            bytes === undefined ? [] : [{ x: connections, y: bytes / MB }],
          ),
        );
        const groups = [...Map.groupBy(points, ({ x }) => x)].sort(([a], [b]) => a - b);
        return [
          {
            type: 'line',
            silent: true,
            showSymbol: false,
            data: groups.map(([x, group]) => [x, group.reduce((sum, { y }) => sum + y, 0) / group.length]),
            lineStyle: { color, width: LINE_WIDTH },
          },
          {
            type: 'scatter',
            silent: true,
            symbolSize: 7,
            data: points.map(({ x, y }) => [x, y]),
            itemStyle: { color: COLORS.page, borderColor: color, borderWidth: 2 },
          },
        ];
      }),
    }),
  };
}

function publishedOf(level: string): string {
  const found = MEMORY_USAGE_CHART.find(({ server }) => server === level);
  return found ? `${decimals(found.heapUsedKb, 1)} (${found.version})` : '–';
}
