/** Several hosts that brought the load: one row each, and one line about all of them. */
import type { Result } from '../../protocol/result/result.ts';
import { decimals, integer, milliseconds, percentOf } from './format.ts';

type Host = Result['generators'][number];

export const HOSTS_HEAD = [
  'Host',
  'Connections',
  'Share',
  'Latency p50 ms',
  'max',
  'Clock ± ms',
  'Began + ms',
  'Idle CPU %',
  'Loop late p99 ms',
];

export function hostRows({ generators, verdict }: Result): string[][] {
  const hidden = verdict.status === 'INVALID';
  return generators.map((host) => [
    host.lost === null ? host.host : `${host.host} (lost)`,
    integer(host.connections),
    percentOf(host.share, 1),
    ...[host.oneWayMs?.p50, host.oneWayMs?.max].map((ms) => optional(hidden ? null : ms, milliseconds)),
    optional(host.clock?.boundMs, (ms) => decimals(ms, 2)),
    optional(host.startSkewMs, (ms) => decimals(ms, 1)),
    optional(leastIdle(host), (percent) => decimals(percent, 0)),
    optional(host.loops?.delayP99Ms, (ms) => decimals(ms, 1)),
  ]);
}

/** @returns null with a single host */
export function hostsLine({ generators, verdict }: Result): string | null {
  if (generators.length < 2) return null;
  const counts = generators.map(({ connections }) => connections);
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  const latencies = generators.flatMap(({ host, oneWayMs }) => (oneWayMs ? [{ host, p50: oneWayMs.p50 }] : []));
  const slowest = verdict.status === 'INVALID' ? undefined : latencies.toSorted((a, b) => b.p50 - a.p50)[0];
  const bounds = generators.flatMap(({ clock }) => (clock ? [clock.boundMs] : []));
  const skews = generators.flatMap(({ startSkewMs }) => startSkewMs ?? []);
  return [
    `${integer(generators.length)} with ${least === most ? '' : `${integer(least)} to `}${integer(most)} connections each`,
    ...(slowest ? [`slowest ${slowest.host} (latency p50 ${milliseconds(slowest.p50)} ms)`] : []),
    ...(bounds.length > 0 ? [`clocks known to ± ${decimals(Math.max(...bounds), 2)} ms`] : []),
    ...(skews.length > 0 ? [`all began within ${decimals(Math.max(...skews), 1)} ms`] : []),
  ].join(', ');
}

/** Of the windows. */
function leastIdle({ cpu: { idlePercent } }: Host): number | null {
  const known = Object.values(idlePercent).filter((percent) => percent !== null);
  return known.length > 0 ? Math.min(...known) : null;
}

function optional(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? '–' : format(value);
}
