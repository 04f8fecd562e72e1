/** Tables of a study's page: a row for each level, and in each column the figure of its runs. */
import type { Spread } from '../../protocol/documents/repeat.ts';
import type { Result } from '../../protocol/result/result.ts';
import { valueAt } from '../../report/figures/figures.ts';
import { idleSeconds, pingIntervalOf } from '../../report/figures/idle-cpu.ts';
import { isUsable } from '../../report/figures/measured-figures.ts';
import { spreadOf } from '../../report/statistics/spread.ts';
import { decimals, integer, kilobytes } from '../../report/text/format.ts';
import type { MeasuredStudy } from './measured.ts';

export interface Column {
  title: string;
  value(result: Result): number | null;
  format(value: number): string;
}

/** @param path of a number of the result */
export function column(title: string, path: string, format: Column['format']): Column {
  return { title, value: at(path), format };
}

/** @returns the memory of a layer per connection */
export function slope(layer: string, title: string): Column {
  return column(`${title} per connection, KB`, `memory.perConnectionBytes.${layer}.slope`, kilobytes);
}

/** @returns the runs of one level that can be used */
export function resultsAt({ runs }: MeasuredStudy, name: string, level: string): Result[] {
  return runs.flatMap(({ levels, result }) =>
    result && String(levels[name]) === level && isUsable(result) ? [result] : [],
  );
}

/** The mean of the runs and, where they differ, the lowest and the highest. */
export function cell({ value, format }: Pick<Column, 'value' | 'format'>, results: Result[]): string {
  const spread = spreadIn({ value }, results);
  if (!spread) return '–';
  const [mean, min, max] = [spread.mean, spread.min, spread.max].map(format);
  return min === max ? `${mean}` : `${mean} (${min} to ${max})`;
}

export function spreadIn({ value }: Pick<Column, 'value'>, results: Result[]): Spread | null {
  return spreadOf(results.flatMap((result) => value(result) ?? []));
}

/**
 * CPU of a layer while connections are idle, divided by their pings.
 * @param figure all of it, or what idle connections add
 * @returns null unless the hold had all pings of an interval
 */
export function microsecondsPerPing(layer: string, figure: 'idlePercent' | 'idleConnectionsPercent'): Column['value'] {
  return (result) => {
    const percent = at(`cpu.${layer}.${figure}`)(result);
    const intervalMs = pingIntervalOf(result);
    const held = result.connections.held ?? result.connections.peak;
    if (percent === null || intervalMs === null || held === 0 || idleSeconds(result) * 1000 < intervalMs) return null;
    return ((percent / 100) * intervalMs * 1000) / held;
  };
}

/** @returns a number of the result, by its path; null where it has none */
export function at(path: string): (result: Result) => number | null {
  return (result) => {
    const value = valueAt(result, path);
    return typeof value === 'number' ? value : null;
  };
}

export function tenths(digits: number): (value: number) => string {
  return (value) => decimals(value, digits);
}

/** @returns sentences: the machine, the versions, and how much CPU was left; none without a run */
export function circumstances(results: Result[]): string[] {
  const idle = (window: 'ramp' | 'broadcasts') =>
    results.flatMap(({ machine }) => machine?.cpuIdlePercent[window] ?? []).map(Math.round);
  const range = (values: number[]) =>
    values.length === 0 ? 'unknown' : `${Math.min(...values)} to ${Math.max(...values)} %`;
  const all = (values: (string | undefined)[]) => [...new Set(values)].filter(Boolean).join(', ');
  if (results.length === 0) return [];
  return [
    `${all(results.map(({ environment }) => environment.cpu))}, ${all(results.map(({ environment }) => integer(environment.cpuCount)))} cores, which the load generator used, too; ${all(results.map(({ environment }) => environment.kernel))}.`,
    `Node ${all(results.map(({ environment }) => environment.versions.serverNode))}; Socket.IO ${all(results.map(({ environment }) => environment.versions.socketIo).filter((version) => version !== 'none'))}.`,
    `CPU of the machine that was idle during the ramps: ${range(idle('ramp'))}; during the broadcasts: ${range(idle('broadcasts'))}.`,
  ];
}
