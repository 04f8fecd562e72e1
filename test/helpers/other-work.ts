/** Measures the CPU that other programs and the hypervisor used while tests ran. */

import { machineSharesBetween } from '../../plugin/samplers/machine/cpu-shares.ts';
import { MachineTime, type MachineTotals } from '../../plugin/samplers/machine/machine-time.ts';

const INTERVAL_MS = 1000;

export class OtherWork {
  readonly #machine: Pick<MachineTime, 'read'>;
  readonly #pid: number;
  readonly #readings: MachineTotals[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** @param pid process whose descendants do not count as other programs */
  constructor(pid: number, machine: Pick<MachineTime, 'read'> = new MachineTime()) {
    this.#pid = pid;
    this.#machine = machine;
  }

  /** Starts a reading every second. The parent of a daemon is known only while the parent runs. */
  async start(): Promise<void> {
    await this.read();
    this.#timer = setInterval(() => void this.read(), INTERVAL_MS).unref();
  }

  async read(): Promise<void> {
    // Without readings from the kernel, the share of other programs is unknown.
    const reading = await this.#machine.read([this.#pid]).catch(() => undefined);
    if (reading) this.#readings.push(reading);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** @returns the share of all CPUs between two times of `performance.now()`; 0 if unknown */
  share(fromMs: number, toMs: number): number {
    const from = this.#readings.findLast(({ atMs }) => atMs <= fromMs) ?? this.#readings[0];
    const to = this.#readings.find(({ atMs }) => atMs >= toMs) ?? this.#readings.at(-1);
    const shares = from && to && machineSharesBetween(from, to);
    if (!shares) return 0;
    return ((shares.othersCores ?? 0) + shares.stealCores) / shares.cores;
  }
}
