/** Who else used the CPUs of a machine of the run: other programs, and the hypervisor, which gave time to other machines. */
import type { MachineShares } from '../../protocol/result/machine.ts';
import type { Result } from '../../protocol/result/result.ts';
import { decimals } from '../text/format.ts';

/** Share of the machine’s CPUs: every system takes a little for itself. */
const MIN_SHARE = 0.05;
/**
 * Share of a machine's CPUs from which others distort times, rates and CPU too much to judge the system by. In
 * runs of 1,000 connections on two cores, the p99 of the latency was up to 1.5 times that of a quiet machine.
 */
const DISTURBING_SHARE = 0.25;
/** Names of programs in a line. */
const MAX_NAMES = 2;
/** A program below it, in cores, explains nothing. */
const MIN_CORES = 0.05;

export interface Taken {
  /** Share of the machine's CPUs. */
  share: number;
  /** `other programs used 1.10 of 2 cores during the ramp (cp 0.95, node 0.26)` */
  text: string;
  /** The largest of the programs, by the names that they give themselves. */
  programs: string[];
}

type Machines = Pick<Result, 'machine' | 'generators' | 'workerMachines'>;

interface Window extends Pick<MachineShares, 'cores' | 'othersCores' | 'stealCores' | 'errorCores' | 'programs'> {
  /** Empty of the generator's own machine. */
  where: string;
  window: string;
}

/** @returns what others took where and when they took most; undefined where that is nothing beyond error, or not known */
export function takenByOthers(result: Machines): Taken | undefined {
  // While nothing is sent, nobody waits.
  const loaded = windowsOf(result).filter(({ window }) => window !== 'idle');
  const windows = loaded.map((one) => ({
    ...one,
    taken: (one.othersCores ?? 0) + one.stealCores,
  }));
  const [worst] = windows.toSorted((a, b) => b.taken / b.cores - a.taken / a.cores);
  if (!worst || worst.taken < Math.max(MIN_SHARE * worst.cores, worst.errorCores)) return undefined;
  const { where, cores, othersCores, stealCores, window } = worst;
  const programs = worst.programs.filter((one) => one.cores >= MIN_CORES).slice(0, MAX_NAMES);
  const named = programs.map(({ name, cores: used }) => `${name} ${decimals(used, 2)}`).join(', ');
  const during = `during the ${window}`;
  const used = `other programs used ${decimals(othersCores ?? 0, 2)} of ${cores} cores${where && ` of ${where}`} ${during}`;
  const texts = [
    ...((othersCores ?? 0) >= MIN_SHARE * cores ? [`${used}${named && ` (${named})`}`] : []),
    ...(stealCores >= MIN_SHARE * cores
      ? [
          `the hypervisor took ${decimals((100 * stealCores) / cores, 0)} % of the CPU of ${where || 'this machine'} ${during}`,
        ]
      : []),
  ];
  if (texts.length === 0) return undefined;
  return { share: worst.taken / cores, text: texts.join(', '), programs: programs.map(({ name }) => name) };
}

/** @returns what others took, if that was so much that times, rates and CPU are not those of the system alone */
export function disturbanceOf(result: Machines): Taken | undefined {
  const taken = takenByOthers(result);
  return taken && taken.share >= DISTURBING_SHARE ? taken : undefined;
}

function windowsOf({ machine, generators, workerMachines }: Machines): Window[] {
  const at = (where: string) => (one: Omit<Window, 'where'>) => ({ ...one, where });
  return [
    ...(machine?.others?.windows ?? []).map(at('')),
    ...generators.flatMap(({ host, others }) => others.map(at(`host ${host}`))),
    ...workerMachines
      .filter(({ isGenerators }) => !isGenerators)
      .flatMap(({ hostname, cores, stealPercent }) =>
        Object.entries(stealPercent).map(([window, percent]) => {
          const stealCores = ((percent ?? 0) * cores) / 100;
          const unknown = { othersCores: null, errorCores: 0, programs: [] };
          return { ...unknown, where: `worker machine ${hostname}`, window, cores, stealCores };
        }),
      ),
  ];
}
