/** Who used the CPUs of this machine between two readings, in cores: seconds of CPU time per second. */
import type { MachineShares } from '../../../protocol/result/machine.ts';
import type { MachineTotals } from './machine-time.ts';

/** Programs that are named: the largest. */
const MAX_PROGRAMS = 5;
/** Below it, no program is worth a name. */
const MIN_CORES = 0.005;
/**
 * How far the sum of all processes is from the busy time, which the kernel counts in another way: on a saturated machine of
 * two cores, of which programs of less than a second took a third, 4 % of its cores at most.
 */
const ERROR_SHARE = 0.05;

/** @returns undefined for readings at the same time */
export function sharesBetween(from: MachineTotals, to: MachineTotals): MachineShares | undefined {
  const wallMs = to.atMs - from.atMs;
  if (wallMs <= 0) return undefined;
  const cores = (us: number) => us / 1000 / wallMs;
  const [busyCores, stealCores, interruptCores] = [
    cores(to.busyUs - from.busyUs),
    cores(to.stealUs - from.stealUs),
    cores(to.interruptUs - from.interruptUs),
  ];
  return {
    seconds: wallMs / 1000,
    cores: to.cores,
    busyCores,
    stealCores,
    ...processShares(from, to, cores, busyCores - stealCores, interruptCores),
    // Some kernels count the time of interrupts as that of the process that they interrupt, too.
    errorCores: ERROR_SHARE * to.cores + interruptCores,
    pressurePercent: difference(from.pressureUs, to.pressureUs, (us) => us / 10 / wallMs),
    meanMhz: difference(from.mhzMs, to.mhzMs, (mhzMs) => mhzMs / wallMs),
  };
}

type ProcessShares = Pick<MachineShares, 'oursCores' | 'othersCores' | 'kernelCores' | 'unaccountedCores' | 'programs'>;

function processShares(
  { processes: from }: MachineTotals,
  { processes: to }: MachineTotals,
  cores: (us: number) => number,
  usedCores: number,
  interruptCores: number,
): ProcessShares {
  if (!from || !to) {
    return { oursCores: null, othersCores: null, kernelCores: null, unaccountedCores: null, programs: [] };
  }
  const oursCores = cores(to.oursUs - from.oursUs);
  const othersCores = cores(to.othersUs - from.othersUs);
  const kernelCores = cores(to.kernelUs - from.kernelUs) + interruptCores;
  const programs = [...to.programsUs].map(([name, us]) => ({
    name,
    cores: cores(us - (from.programsUs.get(name) ?? 0)),
  }));
  return {
    oursCores,
    othersCores,
    kernelCores,
    unaccountedCores: usedCores - oursCores - othersCores - kernelCores,
    programs: programs
      .filter((one) => one.cores >= MIN_CORES)
      .sort((a, b) => b.cores - a.cores)
      .slice(0, MAX_PROGRAMS),
  };
}

function difference(from: number | undefined, to: number | undefined, of: (value: number) => number): number | null {
  return from === undefined || to === undefined ? null : of(to - from);
}
