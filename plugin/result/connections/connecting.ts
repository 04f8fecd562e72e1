/** How connecting went over time. */
import { addConnecting } from '../../../protocol/link/add-up.ts';
import type { Result } from '../../../protocol/result/result.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import { ENGINE } from '../../script/script.ts';

/** From the interval in which the samples begin to the last one in which something happened. */
export function connectingOverTime({
  engine,
  snapshots,
  samplesBeganAtUs,
}: Measurements): Result['connections']['overTime'] {
  if (engine !== ENGINE || snapshots.length === 0 || samplesBeganAtUs === undefined) return null;
  const { opened, connectUs, slowestUs, failed, ended } = addConnecting(snapshots.map((one) => one.connecting));
  const { startedAtUs, intervalUs } = opened;
  const length = Math.max(...[opened, failed, ended].map(({ counts }) => counts.length));
  const first = Math.max(0, Math.floor((samplesBeganAtUs - startedAtUs) / intervalUs));
  const intervals = Array.from({ length: Math.max(0, length - first) }, (_, index) => first + index);
  const ms = (us: number, count: number) => (count === 0 ? null : Math.round(us / count) / 1000);
  const of = (counts: number[]) => intervals.map((index) => counts[index] ?? 0);
  const openedThen = of(opened.counts);
  return {
    intervalSeconds: intervalUs / 1e6,
    t: intervals.map((index) => Math.round((startedAtUs + index * intervalUs - samplesBeganAtUs) / 1e4) / 100),
    opened: openedThen,
    meanMs: of(connectUs.counts).map((us, index) => ms(us, openedThen[index] ?? 0)),
    slowestMs: of(slowestUs.counts).map((us, index) => ms(us, Math.min(1, openedThen[index] ?? 0))),
    failed: of(failed.counts),
    ended: of(ended.counts),
  };
}
