/** The section of the console summary on the load generator itself: did it keep up? */
import type { Result } from '../../protocol/result/result.ts';
import { breakdown, decimals, integer, megabytes } from '../text/format.ts';
import { HOSTS_HEAD, hostRows } from '../text/hosts.ts';
import { fittingTable, table } from '../text/table.ts';
import { INDENT, type Section } from './tables.ts';

type Loop = Result['generator'][number];

/** The worst loop of each part of the generator, and the idle CPU of its machine. */
export function generator({ generator: loops, machine, sampling }: Result): Section | null {
  const notes = [...machineNote(machine), ...samplingNote(sampling)];
  if (loops.length === 0) return notes.length > 0 ? { title: 'Generator', lines: [], notes } : null;
  const groups = Map.groupBy(loops, ({ window, part }) => `${window} ${part}`);
  const rows = [...groups.values()].map((group) => {
    const { window, part, cpuWaitShare } = group[0] as Loop;
    const worst = (figure: (loop: Loop) => number, digits: number) => decimals(Math.max(...group.map(figure)), digits);
    return [
      part === 'fleet' ? `Fleet, ${window}` : `Artillery worker, ${window}`,
      integer(group.length),
      worst((loop) => 100 * loop.utilization, 0),
      worst((loop) => loop.delayP50Ms, 1),
      worst((loop) => loop.delayP99Ms, 1),
      worst((loop) => loop.delayMaxMs, 1),
      cpuWaitShare === null ? '–' : worst((loop) => 100 * (loop.cpuWaitShare ?? 0), 0),
    ];
  });
  return {
    title: 'Generator (event loops, the worst of each part)',
    lines: table(['Part', 'Loops', '% busy', 'Late p50 ms', 'p99', 'max', '% waiting'], rows, INDENT),
    notes,
  };
}

/** Null if the host of the run brought the load itself. */
export function hosts(result: Result, width: number): Section | null {
  if (result.generators.length === 0) return null;
  return { title: 'Generator hosts', lines: fittingTable(HOSTS_HEAD, hostRows(result), INDENT, width) };
}

function machineNote(machine: Result['machine']): string[] {
  if (!machine) return [];
  const { ramp, messages, broadcasts } = machine.cpuIdlePercent;
  const idle = [
    ...(ramp === null ? [] : [`${decimals(ramp, 0)} % during the ramp`]),
    ...(messages === null ? [] : [`${decimals(messages, 0)} % during the messages`]),
    ...(broadcasts === null ? [] : [`${decimals(broadcasts, 0)} % during the broadcasts`]),
  ];
  const swapped = (machine.swappedInBytes ?? 0) + (machine.swappedOutBytes ?? 0);
  return [
    ...(idle.length > 0 ? [`Idle CPU of the generator’s machine: ${idle.join(', ')}.`] : []),
    ...(swapped > 0 ? [`The generator’s machine swapped ${megabytes(swapped)} MB in or out.`] : []),
  ];
}

/** Empty if no sample is missing. */
function samplingNote(sampling: Result['sampling']): string[] {
  if (!sampling) return [];
  const { taken, missed, failures } = sampling;
  const failed = Object.keys(failures).length > 0 ? `; failed: ${breakdown(failures)}` : '';
  if (missed === 0 && failed === '') return [];
  const gap = decimals(sampling.longestGapMs / 1000, 1);
  return [`Samples: ${integer(missed)} of ${integer(taken + missed)} missing, longest gap ${gap} s${failed}.`];
}
