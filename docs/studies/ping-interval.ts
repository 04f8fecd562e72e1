/** The study of ping intervals: what idle connections cost with each, and how many of them that leaves room for. */
import type { Result } from '../../protocol/result/result.ts';
import { bottomAxis, short, valueAxis } from '../../report/charts/axes.ts';
import { type Chart, LINE_WIDTH } from '../../report/charts/chart.ts';
import { COLORS } from '../../report/charts/palette.ts';
import { pingIntervalOf } from '../../report/figures/idle-cpu.ts';
import { decimals, integer } from '../../report/text/format.ts';
import { at, type Column, cell, microsecondsPerPing, resultsAt, slope, spreadIn, tenths } from './columns.ts';
import type { MeasuredStudy } from './measured.ts';

const NAME = 'CAPACITY_PING_INTERVAL_MS';
const LAYERS = [
  { layer: 'worker', name: 'Workers', color: COLORS.blue },
  { layer: 'nginx', name: 'nginx', color: COLORS.orange },
  { layer: 'fleet', name: 'Generator', color: COLORS.grey },
];

interface Level {
  seconds: number;
  /** Usable runs. */
  results: Result[];
}

const LIMIT: Column = {
  title: 'Idle connections that take all cores',
  value: at('capacity.pings.connections'),
  format: integer,
};

const COLUMNS: Column[] = [
  ...LAYERS.map(({ layer, name }) => ({
    title: `${name}, % of a core per 1,000 connections`,
    value: percentPerThousand(layer),
    format: tenths(3),
  })),
  ...LAYERS.map(({ layer, name }) => ({
    title: `${name}, µs per ping`,
    value: microsecondsPerPing(layer, 'idleConnectionsPercent'),
    format: tenths(0),
  })),
  LIMIT,
  slope('workerHeapUsed', 'Workers’ V8 heap'),
  slope('workerPss', 'Workers’ PSS'),
  slope('nginxPss', 'nginx’ PSS'),
];

/** @returns the levels of the study in its order, also those without a run that can be used */
export function levelsOf(measured: MeasuredStudy): Level[] {
  return (measured.study.plan.vary[NAME] ?? []).map((level) => ({
    seconds: Number(level) / 1000,
    results: resultsAt(measured, NAME, String(level)),
  }));
}

/** @returns a row for each interval: its runs, and their figures */
export function rowsOf(levels: Level[]): { head: string[]; rows: string[][] } {
  return {
    head: ['Ping interval, s', 'Runs', ...COLUMNS.map(({ title }) => title)],
    rows: levels.map(({ seconds, results }) => [
      integer(seconds),
      results.map(({ verdict }) => verdict.status).join(', ') || 'no run',
      ...COLUMNS.map((column) => cell(column, results)),
    ]),
  };
}

/** How many connections each interval leaves room for, and whether the CPU falls as the pings do. */
export function answerOf(levels: Level[]): string[] {
  const known = levels.flatMap(({ seconds, results }) => {
    const limit = spreadIn(LIMIT, results)?.mean;
    return limit === undefined ? [] : [{ seconds, limit, cores: results[0]?.environment.cpuCount ?? 0 }];
  });
  const [first, ...others] = known;
  if (!first) return [];
  const cores = `${integer(first.cores)} ${first.cores === 1 ? 'core' : 'cores'}`;
  return [
    `The pings of so many idle connections take ${cores}, by workers and nginx: ${known.map(({ seconds, limit }) => `${integer(Math.round(limit))} with a ping every ${integer(seconds)} s`).join('; ')}.`,
    ...others.map(({ seconds, limit }) => {
      const [more, fewer] = [limit / first.limit, seconds / first.seconds].map((times) => decimals(times, 1));
      return `With a ping every ${integer(seconds)} s instead of ${integer(first.seconds)}, there are ${fewer} times fewer pings, and there is room for ${more} times the connections.`;
    }),
  ];
}

/** CPU against pings per second: a straight line through zero where each ping costs the same. */
export function pingChart(levels: Level[]): Chart | null {
  const results = levels.flatMap((level) => level.results);
  const curves = LAYERS.map(({ layer, name, color }) => ({
    name,
    color,
    points: results.flatMap((result) => {
      const percent = at(`cpu.${layer}.idleConnectionsPercent`)(result);
      const intervalMs = pingIntervalOf(result);
      const held = result.connections.held ?? result.connections.peak;
      return percent === null || intervalMs === null ? [] : [[(held * 1000) / intervalMs, percent]];
    }),
  })).filter(({ points }) => points.length > 0);
  if (curves.length === 0) return null;
  const legend = curves.map(({ name, color }) => ({ name, color }));
  return {
    title: 'CPU of idle connections against their pings',
    legend,
    height: 300,
    option: () => ({
      grid: { left: 60, right: 24, top: 36, bottom: 46 },
      xAxis: { ...bottomAxis('pings per second', short), min: 0 },
      yAxis: { ...valueAxis('% of a core', short), min: 0 },
      series: curves.map(({ color, points }) => ({
        type: 'scatter',
        silent: true,
        symbolSize: 8,
        data: points,
        itemStyle: { color: COLORS.page, borderColor: color, borderWidth: LINE_WIDTH },
      })),
    }),
  };
}

function percentPerThousand(layer: string): Column['value'] {
  return (result) => {
    const percent = at(`cpu.${layer}.idleConnectionsPercent`)(result);
    const held = result.connections.held ?? result.connections.peak;
    return percent === null || held === 0 ? null : (percent * 1000) / held;
  };
}
