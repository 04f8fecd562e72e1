/** Whether the load generator kept up, or added its own queue. */
import type { Result } from '../../protocol/result/result.ts';
import { longestWait, takenByOthers } from '../figures/others.ts';
import { amount, share, withUnit } from '../model/amount.ts';
import { type Finding, facts, grid, lines, type Section, type Table } from '../model/document.ts';
import { blamesOf } from '../search/blame.ts';
import { breakdown, decimals, integer } from '../text/format.ts';
import { known } from './parts.ts';

const PARTS = { fleet: 'Fleet process', artillery: 'Artillery worker' };

type Host = Result['generators'][number];

export function generator(result: Result): Section {
  const { generator: loops } = result;
  return {
    id: 'generator',
    title: 'Load generator',
    lead: 'The event loops of the generator show whether it kept up, or added its own queue to the latencies.',
    terms: ['Generator health'],
    findings: [...finding(result), ...hostsFinding(result)],
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

function finding(result: Result): Finding[] {
  const { generator: loops, machine: found } = result;
  const blamed = new Set(blamesOf(result).map(({ blame }) => blame));
  const how = blamed.has('generator') ? ' did not keep up' : blamed.has('machine') ? ', on a busy machine' : ' kept up';
  const idle = leastIdle(found?.cpuIdlePercent ?? {});
  const texts = [
    ...(loops.length > 0
      ? [`99 % of timers at most ${withUnit('milliseconds', Math.max(...loops.map((loop) => loop.delayP99Ms)))} late`]
      : []),
    ...(idle === null ? [] : [`machine ${decimals(idle, 0)} % idle`]),
  ];
  if (texts.length === 0) return [];
  // The reason says it, too.
  const isReason = result.verdict.reasons.some(({ code }) => code === 'MACHINE_SATURATED');
  const taken = isReason ? undefined : takenByOthers(result);
  return [{ text: `the generator${how}: ${texts.join(', ')}` }, ...(taken ? [{ text: taken.text }] : [])];
}

function hostsFinding({ generators, verdict }: Result): Finding[] {
  if (generators.length < 2) return [];
  const counts = generators.map(({ connections }) => connections);
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  const latencies = generators.flatMap(({ host, oneWayMs }) => (oneWayMs ? [{ host, p50: oneWayMs.p50 }] : []));
  const slowest = verdict.status === 'INVALID' ? undefined : latencies.toSorted((a, b) => b.p50 - a.p50)[0];
  const bounds = generators.flatMap(({ clock }) => (clock ? [clock.boundMs] : []));
  const skews = generators.flatMap(({ startSkewMs }) => startSkewMs ?? []);
  const ms = (value: number) => withUnit('milliseconds', value);
  const text = [
    `${integer(generators.length)} hosts with ${least === most ? '' : `${integer(least)} to `}${integer(most)} connections each`,
    ...(slowest ? [`slowest ${slowest.host} (half of its copies within ${ms(slowest.p50)})`] : []),
    ...(bounds.length > 0 ? [`clocks known to ± ${ms(Math.max(...bounds))}`] : []),
    ...(skews.length > 0 ? [`all began within ${ms(Math.max(...skews))}`] : []),
  ].join(', ');
  return [{ text }];
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

function leastIdle(percents: Record<string, number | null>): number | null {
  const known = Object.values(percents).filter((percent) => percent !== null);
  return known.length > 0 ? Math.min(...known) : null;
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

/** Null if no sample is missing. */
function samplingNote({ sampling }: Result): string | null {
  if (!sampling || (sampling.missed === 0 && Object.keys(sampling.failures).length === 0)) return null;
  const { taken, missed, failures, longestGapMs } = sampling;
  const failed = Object.keys(failures).length > 0 ? `; failed: ${breakdown(failures)}` : '';
  return `Samples: ${integer(missed)} of ${integer(taken + missed)} missing, longest gap ${withUnit('seconds', longestGapMs / 1000)}${failed}.`;
}
