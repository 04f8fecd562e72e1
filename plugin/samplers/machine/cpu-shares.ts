/**
 * Computes which programs used this machine's CPUs between two readings. The unit is cores: seconds of CPU time per
 * second.
 */
import type { MachineShares } from '../../../protocol/result/machine-schema.ts';
import { MachineTime, type MachineTotals } from './machine-time.ts';

/** Number of programs to list, with the largest CPU use first. */
const MAX_PROGRAMS = 5;
const MIN_CORES = 0.005;
/**
 * Maximum difference between the CPU time of all processes and the busy time of the machine, as a share of the cores.
 * The kernel counts the two separately. On a saturated machine with two cores and many short-lived programs, the
 * difference was at most 4 %.
 */
const ERROR_SHARE = 0.05;

/** Returns the CPU use between two readings; undefined if no time has passed. */
export function machineSharesBetween(from: MachineTotals, to: MachineTotals): MachineShares | undefined {
  const wallMs = to.atMs - from.atMs;
  if (wallMs <= 0) return undefined;
  const cores = (us: number) => us / 1000 / wallMs;
  const interruptCores = cores(to.interruptUs - from.interruptUs);
  // The kernel counts in ticks, so a short window can contain more CPU time than its length.
  const busyCores = Math.min(to.cores, cores(to.busyUs - from.busyUs));
  const stealCores = cores(to.stealUs - from.stealUs);
  return {
    seconds: wallMs / 1000,
    ...{ cores: to.cores, busyCores, stealCores },
    pressure: pressureBetween(from, to, wallMs),
    ...withinBusy(processShares(from, to, cores, interruptCores), busyCores - stealCores),
    // Some kernels count the time of an interrupt also for the interrupted process.
    errorCores: ERROR_SHARE * to.cores + interruptCores,
  };
}

function pressureBetween({ pressure: from }: MachineTotals, { pressure: to }: MachineTotals, wallMs: number): Pressure {
  if (!from || !to) return null;
  // The kernel's clock may differ slightly from the clock of this process, so the share is limited to 1.
  const share = (us: number) => Math.min(1, Math.max(0, us / 1000 / wallMs));
  return {
    cpu: share(to.cpuUs - from.cpuUs),
    memory: share(to.memoryUs - from.memoryUs),
    io: share(to.ioUs - from.ioUs),
  };
}

type Pressure = MachineShares['pressure'];
type ProcessShares = Pick<MachineShares, 'oursCores' | 'othersCores' | 'kernelCores' | 'programs'>;

function processShares(
  { processes: from }: MachineTotals,
  { processes: to }: MachineTotals,
  cores: (us: number) => number,
  interruptCores: number,
): ProcessShares {
  if (!from || !to) return { oursCores: null, othersCores: null, kernelCores: null, programs: [] };
  const programs = [...to.programsUs].map(([name, us]) => ({
    name,
    cores: cores(us - (from.programsUs.get(name) ?? 0)),
  }));
  return {
    oursCores: cores(to.oursUs - from.oursUs),
    othersCores: cores(to.othersUs - from.othersUs),
    kernelCores: cores(to.kernelUs - from.kernelUs) + interruptCores,
    programs: largest(programs),
  };
}

/**
 * Limits the CPU use of other programs to the rest of the busy time. The processes are read one after the other, so the
 * sum of their CPU times can be too high.
 */
function withinBusy(shares: ProcessShares, busyCores: number): ProcessShares {
  const { oursCores, kernelCores, othersCores } = shares;
  if (!othersCores) return shares;
  const left = Math.max(0, busyCores - (oursCores ?? 0) - (kernelCores ?? 0));
  const share = Math.min(1, left / othersCores);
  const programs = shares.programs.map(({ name, cores }) => ({ name, cores: cores * share }));
  return { ...shares, othersCores: othersCores * share, programs: largest(programs) };
}

/**
 * Returns the mean CPU use, weighted by the length of the windows.
 * @param some windows of one machine, at least one
 */
export function meanMachineShares(some: MachineShares[]): MachineShares {
  const seconds = some.reduce((sum, shares) => sum + shares.seconds, 0);
  const mean = (of: (shares: MachineShares) => number) =>
    some.reduce((sum, shares) => sum + of(shares) * shares.seconds, 0) / seconds;
  const known = (key: Cores) =>
    some.some((shares) => shares[key] === null) ? null : mean((shares) => shares[key] ?? 0);
  const pressure = (key: keyof NonNullable<Pressure>) => mean((shares) => shares.pressure?.[key] ?? 0);
  const names = new Set(some.flatMap(({ programs }) => programs.map(({ name }) => name)));
  const coresOf = (name: string) =>
    mean(({ programs }) => programs.find((program) => program.name === name)?.cores ?? 0);
  return {
    ...{ seconds, cores: (some[0] as MachineShares).cores },
    ...(Object.fromEntries(CORES.map((key) => [key, known(key)])) as Pick<MachineShares, Cores>),
    pressure: some.some((shares) => shares.pressure === null)
      ? null
      : { cpu: pressure('cpu'), memory: pressure('memory'), io: pressure('io') },
    programs: largest([...names].map((name) => ({ name, cores: coresOf(name) }))),
  };
}

const CORES = ['busyCores', 'stealCores', 'oursCores', 'othersCores', 'kernelCores', 'errorCores'] as const;
type Cores = (typeof CORES)[number];

function largest(programs: MachineShares['programs']): MachineShares['programs'] {
  return programs
    .filter(({ cores }) => cores >= MIN_CORES)
    .sort((a, b) => b.cores - a.cores)
    .slice(0, MAX_PROGRAMS);
}

/** Maximum share of the run's time that reading all processes of the machine may take. */
const SHARE = 0.01;
const MAX_INTERVAL_MS = 5000;

export class MachineWatch {
  readonly #roots: () => Promise<number[] | undefined>;
  readonly #time: Pick<MachineTime, 'read'>;
  #dueMs = 0;
  #latest: MachineTotals | undefined;
  #taken: MachineTotals | undefined;

  /** @param roots processes of generator and deployment, see `MachineTime.read` */
  constructor(roots: () => Promise<number[] | undefined>, time: Pick<MachineTime, 'read'> = new MachineTime()) {
    this.#roots = roots;
    this.#time = time;
  }

  /** Reads the CPU totals of the machine; undefined if the kernel does not report them. Never rejects. */
  async totals(): Promise<MachineTotals | undefined> {
    const roots = await this.#roots().catch(() => undefined);
    return this.#time.read(roots).catch(() => undefined);
  }

  /**
   * Reads the CPU totals if a reading is due. Never rejects.
   * @returns CPU use since the previous reading; undefined if no reading was due
   */
  async tick(): Promise<MachineShares | undefined> {
    const beganMs = performance.now();
    if (beganMs < this.#dueMs) return undefined;
    this.#dueMs = Number.POSITIVE_INFINITY;
    const before = this.#latest;
    const now = await this.totals();
    this.#latest = now ?? before;
    this.#dueMs = beganMs + Math.min(MAX_INTERVAL_MS, (performance.now() - beganMs) / SHARE);
    return before && now && machineSharesBetween(before, now);
  }

  /**
   * Returns the CPU use between the reading at the previous call and the latest reading; undefined if there is no new
   * reading.
   */
  takeShares(): MachineShares | undefined {
    const [from, to] = [this.#taken, this.#latest];
    this.#taken = to;
    return from && to && machineSharesBetween(from, to);
  }
}
