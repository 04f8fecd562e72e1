/** Describes the load generator: delays of its event loops, idle CPU, hosts. */
import type { Result } from '../../protocol/result/result.ts';
import { cpuContention } from '../figures/contention.ts';
import { withUnit } from '../model/amount.ts';
import { decimalsText, integerText } from '../text/format.ts';
import type { ReportLine } from './line.ts';

export function generatorLines(result: Result): ReportLine[] {
  const { generator: loops, machine: found } = result;
  const subjects = new Set(
    result.findings.filter(({ invalidates }) => invalidates.length > 0).map(({ about }) => about),
  );
  const state = subjects.has('generator') ? 'overloaded' : subjects.has('machine') ? 'on a busy machine' : 'OK';
  const idle = leastIdle(found?.cpuIdlePercent ?? {});
  const texts = [
    ...(loops.length > 0
      ? [`p99 timer delay ${withUnit('milliseconds', Math.max(...loops.map((loop) => loop.delayP99Ms)))}`]
      : []),
    ...(idle === null ? [] : [`machine ${decimalsText(idle, 0)} % idle`]),
  ];
  if (texts.length === 0) return [];
  // The finding MACHINE_SATURATED already reports the CPU use of other programs.
  const isReason = result.findings.some(({ code }) => code === 'MACHINE_SATURATED');
  const taken = isReason ? undefined : cpuContention(result);
  return [
    { text: `load generator ${state}: ${texts.join(', ')}` },
    ...(taken ? [{ text: taken.text }] : []),
    ...hostLines(result),
  ];
}

function hostLines({ generators, verdict }: Result): ReportLine[] {
  if (generators.length < 2) return [];
  const counts = generators.map(({ connections }) => connections);
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  const latencies = generators.flatMap(({ host, oneWayMs }) => (oneWayMs ? [{ host, p50: oneWayMs.p50 }] : []));
  const slowest = verdict.status === 'INVALID' ? undefined : latencies.toSorted((a, b) => b.p50 - a.p50)[0];
  const bounds = generators.flatMap(({ clock }) => (clock ? [clock.boundMs] : []));
  const skews = generators.flatMap(({ startSkewMs }) => startSkewMs ?? []);
  const ms = (value: number) => withUnit('milliseconds', value);
  const text = [
    `${integerText(generators.length)} hosts with ${least === most ? '' : `${integerText(least)} to `}${integerText(most)} connections each`,
    ...(slowest ? [`slowest ${slowest.host} (p50 ${ms(slowest.p50)})`] : []),
    ...(bounds.length > 0 ? [`clocks known to ± ${ms(Math.max(...bounds))}`] : []),
    ...(skews.length > 0 ? [`starts within ${ms(Math.max(...skews))}`] : []),
  ].join(', ');
  return [{ text }];
}

/** Returns the lowest idle share of the CPUs over several windows; null if no window has one. */
export function leastIdle(percents: Record<string, number | null>): number | null {
  const known = Object.values(percents).filter((percent) => percent !== null);
  return known.length > 0 ? Math.min(...known) : null;
}
