/** What the overview of the reports shows: one row for each size that has a result. */
import type { Result } from '../../protocol/result/result.ts';
import { mainWorkerLayer } from '../../report/figures/layers.ts';
import { decimals, integer, kilobytes, milliseconds, percentOf } from '../../report/text/format.ts';
import { readReports } from './reports.ts';

export interface ReportRow {
  size: string;
  title: string;
  verdict: string;
  /** Connections per second. */
  rate: string;
  /** KB per connection: workers, nginx. */
  workerKb: string;
  nginxKb: string;
  coverage: string;
  /** ms until the last receiver had a broadcast, 99th percentile. */
  completionMs: string;
  machine: string;
}

export declare const data: ReportRow[];

export default {
  watch: ['./*/result.json'],
  load: (): ReportRow[] => readReports().map(({ size, title, result }) => ({ size, title, ...row(result) })),
};

/** An INVALID run shows its verdict and no figure. */
function row({
  verdict,
  connections,
  memory,
  delivery,
  latency,
  environment,
}: Result): Omit<ReportRow, 'size' | 'title'> {
  const valid = verdict.status !== 'INVALID';
  const show = (value: number | null | undefined, format: (value: number) => string) =>
    valid && value !== null && value !== undefined ? format(value) : '–';
  const { perConnectionBytes: slopes } = memory;
  return {
    verdict: verdict.status,
    rate: show(connections.achievedRatePerSec, (rate) => decimals(rate, 1)),
    workerKb: show(slopes[mainWorkerLayer(slopes)]?.slope, kilobytes),
    nginxKb: show(slopes.nginxPss?.slope, kilobytes),
    coverage: valid && delivery ? percentOf(delivery.received, delivery.expected) : '–',
    completionMs: show(latency.completionMs?.p50, milliseconds),
    machine: `${environment.cpu}, ${integer(environment.cpuCount)} cores`,
  };
}
