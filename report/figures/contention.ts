/** Finds CPU use by other programs on a machine, and CPU time that the hypervisor gave to other virtual machines. */

import { type FindingValue, findingValues } from '../../protocol/result/findings.ts';
import type { MachineShares } from '../../protocol/result/machine-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { decimalsText } from '../text/format.ts';
import { sharesMachine } from './places.ts';

/** Threshold for the CPU use of other programs, as a share of the machine. Less is normal on any system. */
const MIN_SHARE = 0.05;
/**
 * CPU use of other programs, as a share of the machine, above which it distorts times, rates and CPU figures. In runs
 * of 1,000 connections on two cores, it raised the p99 of the latency up to 1.5-fold.
 */
const DISTURBING_SHARE = 0.25;
/** Maximum number of programs that a line lists by name. */
const MAX_NAMES = 2;
/** Minimum number of cores that a program must use for a line to list its name. */
const MIN_CORES = 0.05;

export interface CpuContention {
  /** CPU use of other programs, as a share of the machine's CPUs. */
  share: number;
  /** Idle share of the machine's CPUs in the same window. */
  idleShare: number;
  /** Text of the line: `other programs used 1.10 of 2 cores during the ramp (cp 0.95, node 0.26)`. */
  text: string;
  /** The numbers in `text`, as values of a finding. */
  values: FindingValue[];
  /** Names of the other programs with the largest CPU use. A program can set its name to any text. */
  programs: string[];
  /** Measurement windows in which other programs used at least a quarter of the CPUs, the worst first. */
  windows: string[];
}

type Machines = Pick<Result, 'run' | 'machine' | 'generators' | 'workerMachines'>;

type Known = 'cores' | 'busyCores' | 'othersCores' | 'stealCores' | 'errorCores' | 'programs' | 'pressure';

interface Window extends Pick<MachineShares, Known> {
  /** Name of the generator host; empty for the generator's own machine. */
  where: string;
  window: string;
  /** Number of cores used by programs outside the generator's container. */
  unseenCores: number;
}

/** Returns the CPU use of other programs in the worst measurement window; undefined if it is unknown or small. */
export function cpuContention(result: Machines): CpuContention | undefined {
  // The idle window is ignored: nothing is sent then, so a busy CPU delays nothing.
  const loaded = windowsOf(result).filter(({ window }) => window !== 'idle');
  const windows = loaded.map((one) => ({
    ...one,
    taken: (one.othersCores ?? 0) + one.unseenCores + one.stealCores,
  }));
  const [worst] = windows.toSorted((a, b) => b.taken / b.cores - a.taken / a.cores);
  if (!worst || worst.taken < Math.max(MIN_SHARE * worst.cores, worst.errorCores)) return undefined;
  const { where, cores, busyCores, othersCores, unseenCores, stealCores, window } = worst;
  const programs = worst.programs.filter((one) => one.cores >= MIN_CORES).slice(0, MAX_NAMES);
  const named = programs.map(({ name, cores: used }) => `${name}: ${decimalsText(used, 2)}`).join(', ');
  const during = `during the ${window}`;
  const used = (who: string, some: number) =>
    `${who} used ${decimalsText(some, 2)} of ${cores} cores${where && ` of ${where}`} ${during}`;
  const stolen = decimalsText((100 * stealCores) / cores, 0);
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
      ...findingValues(
        { 'CPU used by others': (100 * worst.taken) / cores, 'taken by the hypervisor': (100 * stealCores) / cores },
        '%',
      ),
      ...findingValues({
        'cores used by other programs': othersCores ?? 0,
        'cores used outside of this container': unseenCores,
        cores,
      }),
      ...findingValues(Object.fromEntries(programs.map(({ name, cores: used }) => [`cores used by ${name}`, used]))),
    ],
    programs: programs.map(({ name }) => name),
    windows: [
      ...new Set([window, ...windows.flatMap((one) => (one.taken >= DISTURBING_SHARE * one.cores ? one.window : []))]),
    ],
  };
}

/**
 * Returns the CPU use of other programs if it distorts times, rates and CPU figures: if it is a quarter of the machine,
 * or at least as much as was left idle.
 */
export function distortingContention(result: Machines): CpuContention | undefined {
  const taken = cpuContention(result);
  return taken && taken.share >= Math.min(DISTURBING_SHARE, taken.idleShare) ? taken : undefined;
}

export interface PressureWait {
  share: number;
  /** Text with measurement window and host, such as `during the ramp on host a`. */
  during: string;
}

/** Returns the longest wait of processes for memory, CPU or disk over all windows; undefined if unknown. */
export function longestPressureWait(
  result: Machines,
  what: keyof NonNullable<MachineShares['pressure']>,
): PressureWait | undefined {
  const all = windowsOf(result).flatMap(({ where, window, pressure }) =>
    pressure ? [{ share: pressure[what], during: `during the ${window}${where && ` on ${where}`}` }] : [],
  );
  return all.toSorted((a, b) => b.share - a.share)[0];
}

type Shares = MachineShares & Pick<Window, 'window'>;

function windowsOf({ run, machine, generators, workerMachines }: Machines): Window[] {
  // Containers of the workers are part of the deployment, not other programs.
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

/**
 * Returns the cores that no visible process used: the CPU time counted by the kernel, less the CPU time of all visible
 * processes.
 */
function unseenOf({ busyCores, stealCores, oursCores, othersCores, kernelCores, errorCores }: MachineShares): number {
  if (oursCores === null) return 0;
  const seen = stealCores + oursCores + (othersCores ?? 0) + (kernelCores ?? 0);
  return Math.max(0, busyCores - seen - errorCores);
}
