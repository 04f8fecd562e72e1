/** Other users of a machine's CPUs: other programs, and the hypervisor, which runs other machines. */

import { type FindingValue, valuesOf } from '../../protocol/result/findings.ts';
import type { MachineShares } from '../../protocol/result/machine-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { decimals } from '../text/format.ts';
import { sharesMachine } from './places.ts';

/** Share of the machine’s CPUs that every system uses for itself. */
const MIN_SHARE = 0.05;
/**
 * Share of a machine's CPUs at which other programs distort times, rates and CPU too much. In runs of 1,000 connections on two cores, the
 * p99 of the latency was up to 1.5 times that of a quiet machine.
 */
const DISTURBING_SHARE = 0.25;
/** Number of programs in a line. */
const MAX_NAMES = 2;
/** Programs that use fewer cores are not named. */
const MIN_CORES = 0.05;

export interface Contention {
  /** Share of the machine's CPUs. */
  share: number;
  /** Idle share of the CPUs in the same window. */
  idleShare: number;
  /** `other programs used 1.10 of 2 cores during the ramp (cp 0.95, node 0.26)` */
  text: string;
  /** Numbers in `text`. */
  values: FindingValue[];
  /** Largest programs, by the names that they choose. */
  programs: string[];
  /** Windows in which others used a quarter of the CPUs or more; the worst one first. */
  windows: string[];
}

type Machines = Pick<Result, 'run' | 'machine' | 'generators' | 'workerMachines'>;

type Known = 'cores' | 'busyCores' | 'othersCores' | 'stealCores' | 'errorCores' | 'programs' | 'pressure';

interface Window extends Pick<MachineShares, Known> {
  /** Empty for the generator's own machine. */
  where: string;
  window: string;
  /** CPU of programs outside the container, which do not belong to the run. */
  unseenCores: number;
}

/** Returns the CPU used by others in the worst window; undefined if it is unknown or within the margin of error. */
export function contentionOf(result: Machines): Contention | undefined {
  // Nothing is sent in the idle window, so no work waits for a CPU.
  const loaded = windowsOf(result).filter(({ window }) => window !== 'idle');
  const windows = loaded.map((one) => ({
    ...one,
    taken: (one.othersCores ?? 0) + one.unseenCores + one.stealCores,
  }));
  const [worst] = windows.toSorted((a, b) => b.taken / b.cores - a.taken / a.cores);
  if (!worst || worst.taken < Math.max(MIN_SHARE * worst.cores, worst.errorCores)) return undefined;
  const { where, cores, busyCores, othersCores, unseenCores, stealCores, window } = worst;
  const programs = worst.programs.filter((one) => one.cores >= MIN_CORES).slice(0, MAX_NAMES);
  const named = programs.map(({ name, cores: used }) => `${name}: ${decimals(used, 2)}`).join(', ');
  const during = `during the ${window}`;
  const used = (who: string, some: number) =>
    `${who} used ${decimals(some, 2)} of ${cores} cores${where && ` of ${where}`} ${during}`;
  const stolen = decimals((100 * stealCores) / cores, 0);
  const all: [cores: number, text: string][] = [
    [othersCores ?? 0, `${used('other programs', othersCores ?? 0)}${named && ` (${named})`}`],
    [unseenCores, used('programs outside of this container', unseenCores)],
    [stealCores, `the hypervisor took ${stolen} % of the CPU of ${where || 'this machine'} ${during}`],
  ];
  const texts = all.flatMap(([some, text]) => (some >= MIN_SHARE * cores ? [text] : []));
  if (texts.length === 0) return undefined;
  return {
    share: worst.taken / cores,
    idleShare: Math.max(0, 1 - busyCores / cores),
    text: texts.join(', '),
    values: [
      ...valuesOf(
        { 'CPU used by others': (100 * worst.taken) / cores, 'taken by the hypervisor': (100 * stealCores) / cores },
        '%',
      ),
      ...valuesOf({
        'cores used by other programs': othersCores ?? 0,
        'cores used outside of this container': unseenCores,
        cores,
      }),
      ...valuesOf(Object.fromEntries(programs.map(({ name, cores: used }) => [`cores used by ${name}`, used]))),
    ],
    programs: programs.map(({ name }) => name),
    windows: [
      ...new Set([window, ...windows.flatMap((one) => (one.taken >= DISTURBING_SHARE * one.cores ? one.window : []))]),
    ],
  };
}

/** Returns the CPU used by others if it distorts times, rates and CPU: a large share, or at least as much as was left idle. */
export function disturbanceOf(result: Machines): Contention | undefined {
  const taken = contentionOf(result);
  return taken && taken.share >= Math.min(DISTURBING_SHARE, taken.idleShare) ? taken : undefined;
}

export interface Waiting {
  share: number;
  /** Window and machine: "during the ramp on host a". */
  during: string;
}

/** Returns the longest time in which a process waited for memory, a CPU or a disk, over all windows; undefined if unknown. */
export function longestWait(result: Machines, what: keyof NonNullable<MachineShares['pressure']>): Waiting | undefined {
  const all = windowsOf(result).flatMap(({ where, window, pressure }) =>
    pressure ? [{ share: pressure[what], during: `during the ${window}${where && ` on ${where}`}` }] : [],
  );
  return all.toSorted((a, b) => b.share - a.share)[0];
}

type Shares = MachineShares & Pick<Window, 'window'>;

function windowsOf({ run, machine, generators, workerMachines }: Machines): Window[] {
  // The workers' own containers do not count as others.
  const isShared = sharesMachine({ run }) || workerMachines.some(({ isGenerators }) => isGenerators);
  const at = (where: string) => (one: Shares) => ({ ...one, where, unseenCores: isShared ? 0 : unseenOf(one) });
  return [
    ...(machine?.others?.windows ?? []).map(at('')),
    ...generators.flatMap(({ host, others }) => others.map(at(`host ${host}`))),
    ...workerMachines
      .filter(({ isGenerators }) => !isGenerators)
      .flatMap(({ hostname, cores, stealPercent, cpuIdlePercent }) =>
        Object.entries(stealPercent).map(([window, percent]) => {
          const stealCores = ((percent ?? 0) * cores) / 100;
          const idlePercent = cpuIdlePercent[window as keyof typeof cpuIdlePercent] ?? 0;
          const busyCores = cores * (1 - idlePercent / 100);
          const unknown = { othersCores: null, errorCores: 0, programs: [], pressure: null, unseenCores: 0 };
          return { ...unknown, where: `worker machine ${hostname}`, window, cores, busyCores, stealCores };
        }),
      ),
  ];
}

/** Returns the kernel's CPU count minus that of all visible processes. */
function unseenOf({ busyCores, stealCores, oursCores, othersCores, kernelCores, errorCores }: MachineShares): number {
  if (oursCores === null) return 0;
  const seen = stealCores + oursCores + (othersCores ?? 0) + (kernelCores ?? 0);
  return Math.max(0, busyCores - seen - errorCores);
}
