/** The same figures at every size that has a report: what the section on growth draws and tabulates. */

import type { Slope } from '../../protocol/result/memory.ts';
import type { Result } from '../../protocol/result/result.ts';
import { COLORS, layerStyle } from '../../report/charts/palette.ts';
import { decimals, milliseconds } from '../../report/text/format.ts';
import type { Report } from '../reports/reports.ts';

export interface Curve {
  name: string;
  color: string;
  dash?: 'dashed' | 'dotted';
  /** One for each report; null where it was not measured. */
  values: (number | null)[];
  /** Half of each value's 95 % interval, where it has one. */
  margins?: (number | null)[];
}

export interface Panel {
  title: string;
  unit: string;
  /** Times grow with the connections; what one connection or message costs should not. */
  expected: 'flat' | 'growing';
  format(value: number): string;
  curves: Curve[];
}

type Layer = [layer: string, name: string, dash?: 'dashed' | 'dotted'];

const MEMORY: Layer[] = [
  ['workerPss', 'Workers'],
  ['workerHeapUsed', 'Workers, of it V8’s heap', 'dashed'],
  ['nginxPss', 'nginx'],
  ['redisUsedMemory', 'Redis'],
  ['kernelSlab', 'Kernel, sockets of both sides'],
];
const PROCESSES: Layer[] = [
  ['worker', 'Workers'],
  ['nginx', 'nginx'],
  ['redis', 'Redis'],
];

/** @param reports usable ones */
export function panels(reports: Report[]): Panel[] {
  const results = reports.map(({ result }) => result);
  const largest = results.at(-1);
  const one = (name: string, value: (result: Result) => number | null | undefined): Curve[] => [
    { name, color: COLORS.text, values: results.map((result) => value(result) ?? null) },
  ];
  const byLayer = (layers: Layer[], value: (result: Result, layer: string) => number | null | undefined) =>
    layers
      .map(([layer, name, dash]) => ({
        layer,
        name,
        color: largest ? layerStyle(largest, layer).color : COLORS.grey,
        ...(dash && { dash }),
        values: results.map((result) => value(result, layer) ?? null),
      }))
      .filter(({ values }) => values.some((found) => found !== null));
  const oneDigit = (value: number) => decimals(value, 1);
  return [
    {
      title: 'Memory per connection',
      unit: 'KB',
      expected: 'flat',
      format: oneDigit,
      curves: byLayer(MEMORY, (result, layer) => kilobytesOf(slopeOf(result, layer)?.slope)).map((curve) => ({
        ...curve,
        margins: results.map((result) => kilobytesOf(marginOf(slopeOf(result, curve.layer)))),
      })),
    },
    {
      title: 'CPU per 1,000 connects',
      unit: 's',
      expected: 'flat',
      format: (value) => decimals(value, 3),
      curves: byLayer(PROCESSES, (result, layer) => result.cpu[layer]?.rampSecondsPerThousandConnects),
    },
    {
      title: 'CPU per message',
      unit: 'µs',
      expected: 'flat',
      format: oneDigit,
      curves: byLayer(PROCESSES, (result, layer) => result.cpu[layer]?.broadcastMicrosecondsPerMessage),
    },
    {
      title: 'Connect time, p95',
      unit: 'ms',
      expected: 'growing',
      format: milliseconds,
      curves: one('Connect time, p95', ({ connections }) => connections.connectMs?.p95),
    },
    {
      title: 'Until the last receiver had a broadcast, median',
      unit: 'ms',
      expected: 'growing',
      format: milliseconds,
      curves: one('Last receiver, p50', ({ latency }) => latency.completionMs?.p50),
    },
  ];
}

function slopeOf(result: Result, layer: string): Slope | undefined {
  return result.memory.perConnectionBytes[layer];
}

function marginOf(slope: Slope | undefined): number | null {
  return slope === undefined || slope.high95 === null ? null : slope.high95 - slope.slope;
}

function kilobytesOf(bytes: number | null | undefined): number | null {
  return bytes === undefined || bytes === null ? null : bytes / 1024;
}
