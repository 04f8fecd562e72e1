/** Section on delays in the load generator, which would be part of every measured time. */
import type { Result } from '../../protocol/result/result.ts';
import { leastIdle } from '../answer/generator-line.ts';
import { longestPressureWait } from '../figures/contention.ts';
import { amount, shareAmount, withUnit } from '../model/amount.ts';
import { factsTable, figuresTable, linesBlock, type ReportSection, type Table } from '../model/document.ts';
import { countsBreakdown, integerText } from '../text/format.ts';
import { knownFact } from './section-parts.ts';

const PARTS = { fleet: 'Fleet process', artillery: 'Artillery worker' };

type Host = Result['generators'][number];

export function generatorSection(result: Result): ReportSection {
  const { generator: loops } = result;
  return {
    id: 'generator',
    title: 'Load generator',
    lead: 'The event loops of the generator show whether it kept up, or added its own queue to the latencies.',
    terms: ['Generator health'],
    folded: true,
    blocks: [
      hosts(result),
      linesBlock('note', [
        result.generators.length > 0 &&
          'Latency is that of the receivers on the host, and as uncertain as its clock. “Began” counts from the first host; idle CPU is the least of ramp, messages and broadcasts.',
      ]),
      loops.length === 0
        ? linesBlock('absent', ['Not measured: this engine does not report its event loops.'])
        : figuresTable(
            'Event loops of the generator',
            ['Event loop', 'Busy, %', 'Late p50, ms', 'p99', 'Max', 'Waiting for a CPU, %'],
            loops.map((loop) => [
              `${PARTS[loop.part]} ${loop.index}${loop.host === undefined ? '' : ` on ${loop.host}`}, ${loop.window}`,
              shareAmount(loop.utilization, 1),
              ...[loop.delayP50Ms, loop.delayP99Ms, loop.delayMaxMs].map((ms) => amount('milliseconds', ms)),
              amount('share', loop.cpuWaitShare),
            ]),
          ),
      machine(result),
      linesBlock('note', [samplingNote(result)]),
    ],
  };
}

function hosts({ generators, verdict }: Result): Table {
  const times = verdict.status === 'INVALID' ? () => null : ({ oneWayMs }: Host) => oneWayMs;
  return figuresTable(
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
      shareAmount(host.share, 1),
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
  return factsTable('The generator’s machine', [
    knownFact('Idle CPU during the ramp', 'percent', idle?.ramp),
    knownFact('Idle CPU during the messages', 'percent', idle?.messages),
    knownFact('Idle CPU during the broadcasts', 'percent', idle?.broadcasts),
    knownFact('Time in which programs waited for a CPU', 'share', longestPressureWait(result, 'cpu')?.share),
    knownFact('– for memory', 'share', longestPressureWait(result, 'memory')?.share),
    knownFact('– for a disk', 'share', longestPressureWait(result, 'io')?.share),
    knownFact('Swapped in', 'size', swappedInBytes),
    knownFact('Swapped out', 'size', swappedOutBytes),
  ]);
}

/** Returns a note about missing samples; null if all samples were taken. */
function samplingNote({ sampling }: Result): string | null {
  if (!sampling || (sampling.missed === 0 && Object.keys(sampling.failures).length === 0)) return null;
  const { taken, missed, failures, longestGapMs } = sampling;
  const failed = Object.keys(failures).length > 0 ? `; failed: ${countsBreakdown(failures)}` : '';
  return `Samples: ${integerText(missed)} of ${integerText(taken + missed)} missing, longest gap ${withUnit('seconds', longestGapMs / 1000)}${failed}.`;
}
