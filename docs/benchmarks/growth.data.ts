/** What the section on growth shows, from all reports. */

import { pingIntervalOf } from '../../report/figures/idle-cpu.ts';
import { isUsable } from '../../report/figures/measured-figures.ts';
import { dataTable, figure } from '../../report/render/blocks.ts';
import { decimals, integer, optional } from '../../report/text/format.ts';
import { type Report, readReportsBySize } from '../reports/reports.ts';
import { panels } from './growth.ts';
import { growthChart } from './growth-chart.ts';

export interface Growth {
  /** How many sizes there are. */
  sizes: number;
  chart: string;
  table: string;
}

export declare const data: Growth;

export default { watch: ['../reports/*/result.json'], load: (): Growth => growth(readReportsBySize()) };

export function growth(reports: Report[]): Growth {
  const shown = reports.filter(({ result }) => isUsable(result));
  const drawn = panels(shown);
  const chart = growthChart(
    shown.map(({ result }) => result.connections.target),
    drawn,
  );
  const figures = drawn.flatMap(({ title, unit, format, curves }) =>
    curves.map(({ name, values, margins }) => [
      curves.length > 1 ? `${title}, ${unit}: ${name}` : `${title}, ${unit}`,
      ...values.map((value, index) => optional(value, format) + plusMinus(margins?.[index], format)),
    ]),
  );
  const head = ['', ...shown.map(({ result }) => integer(result.connections.target))];
  return {
    sizes: shown.length,
    chart: figure(chart, 'There is no report here yet.').markup,
    table: dataTable('Figures by number of connections', head, [...circumstances(shown), ...figures]).markup,
  };
}

/** What differed between the runs besides the number of connections. */
function circumstances(reports: Report[]): string[][] {
  const row = (name: string, cell: (report: Report) => string) => [name, ...reports.map(cell)];
  return [
    row('Verdict', ({ result }) => result.verdict.status),
    row('Processor', ({ result: { environment } }) => `${environment.cpu}, ${integer(environment.cpuCount)} cores`),
    row('Ping interval, s', ({ result }) =>
      optional(pingIntervalOf(result), (intervalMs) => decimals(intervalMs / 1000, 0)),
    ),
    row('Workers', ({ result }) => integer(Object.keys(result.connections.perWorker).length)),
    row('Connections per second', ({ result }) =>
      optional(result.connections.achievedRatePerSec, (rate) => decimals(rate, 0)),
    ),
    row('CPU of the machine idle, ramp, %', ({ result }) =>
      optional(result.machine?.cpuIdlePercent.ramp, (percent) => decimals(percent, 0)),
    ),
    row('CPU of the machine idle, broadcasts, %', ({ result }) =>
      optional(result.machine?.cpuIdlePercent.broadcasts, (percent) => decimals(percent, 0)),
    ),
  ];
}

function plusMinus(margin: number | null | undefined, format: (value: number) => string): string {
  return margin === null || margin === undefined ? '' : ` ± ${format(margin)}`;
}
