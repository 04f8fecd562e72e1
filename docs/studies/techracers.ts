/** The Techracers study beside our runs: memory by layer, CPU, and how long a broadcast takes. */

import type { Summary } from '../../protocol/result/parts.ts';
import type { Result } from '../../protocol/result/result.ts';
import { dataTable } from '../../report/render/blocks.ts';
import type { Html } from '../../report/render/markup.ts';
import { decimals, integer, kilobytes, milliseconds, optional } from '../../report/text/format.ts';
import { TECHRACERS } from './published.ts';

const KB = 1024;
const KB_OF_MB = 1024;

type Row = [question: string, theirs: string, ours: (result: Result) => string];

/** @param results usable ones */
export function techracersTable(results: Result[]): Html {
  const { connections, systemMb, nodeMb, redisMbPerConnection, peakCpuPercent, ratePerSec, idleCpuPercent } =
    TECHRACERS;
  const rows: Row[] = [
    ['Connections', integer(connections), ({ connections: { peak } }) => integer(peak)],
    ['Verdict', 'none', ({ verdict }) => verdict.status],
    ['Connections per second', `${ratePerSec}`, ({ connections: made }) => optional(made.achievedRatePerSec, oneDigit)],
    ['KB per connection: Node, peak less baseline', kb(nodeMb.perConnection), (result) => naive(result, 'workerRss')],
    ['KB per connection: Node, slope at rest', 'not measured', (result) => slope(result, 'workerRss')],
    [
      'KB per connection: Redis',
      `${kb(redisMbPerConnection)} (a difference)`,
      (result) => slope(result, 'redisUsedMemory'),
    ],
    ['KB per connection: nginx', 'not measured', (result) => slope(result, 'nginxPss')],
    ['KB per connection: kernel, sockets', 'not measured', (result) => slope(result, 'kernelSlab')],
    ['KB per connection: whole machine', kb(systemMb.perConnection), (result) => slope(result, 'systemHeld')],
    [
      'CPU of the workers, s per 1,000 connects',
      `at most ${oneDigit((peakCpuPercent / 100 / ratePerSec) * 1000)} (${peakCpuPercent} % at ${ratePerSec}/s)`,
      ({ cpu }) => optional(cpu.worker?.rampSecondsPerThousandConnects, (seconds) => decimals(seconds, 3)),
    ],
    [
      'CPU of the workers while idle, % of a core',
      `at most ${idleCpuPercent}`,
      ({ cpu }) => optional(cpu.worker?.idlePercent, oneDigit),
    ],
    [
      'Round trip ÷ 2 under load, ms',
      'average below 300, none above 2,000',
      ({ latency }) => meanAndMax(latency.roundTripHalfMs.underLoad),
    ],
    ['Unloaded round trip ÷ 2, ms', 'plotted, no figure', ({ latency }) => meanAndMax(latency.roundTripHalfMs.single)],
    ['Every receiver, one way, ms', 'not measured', ({ latency }) => meanAndMax(latency.oneWayMs)],
  ];
  const head = ['', 'The study', ...results.map(({ connections: { target } }) => `us, ${integer(target)}`)];
  return dataTable(
    'The Techracers study and our runs',
    head,
    rows.map(([question, theirs, ours]) => [question, theirs, ...results.map(ours)]),
  );
}

function kb(megabytes: number): string {
  return oneDigit(megabytes * KB_OF_MB);
}

/** Nothing is known of what is smaller than its own interval, unless that interval is next to nothing: Redis' 0.0 ± 0.0. */
function slope({ memory }: Result, layer: string): string {
  const found = memory.perConnectionBytes[layer];
  if (found === undefined) return '–';
  if (found.high95 === null) return kilobytes(found.slope);
  const margin = found.high95 - found.slope;
  const isNoise = margin > Math.abs(found.slope) && margin >= KB;
  return isNoise ? `unknown (± ${kilobytes(margin)})` : `${kilobytes(found.slope)} ± ${kilobytes(margin)}`;
}

function naive({ memory }: Result, layer: string): string {
  return optional(memory.perConnectionBytes[layer]?.naive, kilobytes);
}

function meanAndMax(summary: Summary | null): string {
  return summary === null ? '–' : `${milliseconds(summary.mean)} (max ${milliseconds(summary.max)})`;
}

function oneDigit(value: number): string {
  return decimals(value, 1);
}
