/** Section on delays of the load generator. They would be included in measured times. */
import type { Result } from '../../protocol/result/result.ts';
import { leastIdle } from '../answer/generator-line.ts';
import { longestWait } from '../figures/contention.ts';
import { amount, share, withUnit } from '../model/amount.ts';
import { facts, grid, lines, type Section, type Table } from '../model/document.ts';
import { breakdown, integer } from '../text/format.ts';
import { known } from './section-parts.ts';

const PARTS = { fleet: 'Fleet process', artillery: 'Artillery worker' };

type Host = Result['generators'][number];

export function generator(result: Result): Section {
  const { generator: loops } = result;
  return {
    id: 'generator',
    title: 'Load generator',
    lead: 'The event loops of the generator show whether it kept up, or added its own queue to the latencies.',
    terms: ['Generator health'],
    folded: true,
    blocks: [
      hosts(result),
      lines('note', [
        result.generators.length > 0 &&
          'Latency is that of the receivers on the host, and as uncertain as its clock. “Began” counts from the first host; idle CPU is the least of ramp, messages and broadcasts.',
      ]),
      loops.length === 0
        ? lines('absent', ['Not measured: this engine does not report its event loops.'])
        : grid(
            'Event loops of the generator',
            ['Event loop', 'Busy, %', 'Late p50, ms', 'p99', 'Max', 'Waiting for a CPU, %'],
            loops.map((loop) => [
              `${PARTS[loop.part]} ${loop.index}${loop.host === undefined ? '' : ` on ${loop.host}`}, ${loop.window}`,
              share(loop.utilization, 1),
              ...[loop.delayP50Ms, loop.delayP99Ms, loop.delayMaxMs].map((ms) => amount('milliseconds', ms)),
              amount('share', loop.cpuWaitShare),
            ]),
          ),
      machine(result),
      lines('note', [samplingNote(result)]),
    ],
  };
}

function hosts({ generators, verdict }: Result): Table {
  const times = verdict.status === 'INVALID' ? () => null : ({ oneWayMs }: Host) => oneWayMs;
  return grid(
    'Generator hosts',
    [
      'Host',
      'Connections',
      'Share, %',
      'Latency p50, ms',
      'Max, ms',
      'Clock ±, ms',
      'Began +, ms',
      'Idle CPU, %',
      'Loop late p99, ms',
    ],
    generators.map((host) => [
      host.lost === null ? host.host : `${host.host} (lost)`,
      amount('count', host.connections),
      share(host.share, 1),
      ...[times(host)?.p50, times(host)?.max, host.clock?.boundMs, host.startSkewMs].map((ms) =>
        amount('milliseconds', ms),
      ),
      amount('percent', leastIdle(host.cpu.idlePercent)),
      amount('milliseconds', host.loops?.delayP99Ms),
    ]),
  );
}

function machine(result: Result): Table {
  const { machine: found } = result;
  const { cpuIdlePercent: idle, swappedInBytes = null, swappedOutBytes = null } = found ?? {};
  return facts('The generator’s machine', [
    known('Idle CPU during the ramp', 'percent', idle?.ramp),
    known('Idle CPU during the messages', 'percent', idle?.messages),
    known('Idle CPU during the broadcasts', 'percent', idle?.broadcasts),
    known('Time in which programs waited for a CPU', 'share', longestWait(result, 'cpu')?.share),
    known('– for memory', 'share', longestWait(result, 'memory')?.share),
    known('– for a disk', 'share', longestWait(result, 'io')?.share),
    known('Swapped in', 'size', swappedInBytes),
    known('Swapped out', 'size', swappedOutBytes),
  ]);
}

/** Returns null if all samples were taken. */
function samplingNote({ sampling }: Result): string | null {
  if (!sampling || (sampling.missed === 0 && Object.keys(sampling.failures).length === 0)) return null;
  const { taken, missed, failures, longestGapMs } = sampling;
  const failed = Object.keys(failures).length > 0 ? `; failed: ${breakdown(failures)}` : '';
  return `Samples: ${integer(missed)} of ${integer(taken + missed)} missing, longest gap ${withUnit('seconds', longestGapMs / 1000)}${failed}.`;
}
