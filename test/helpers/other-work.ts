/** How much of the CPUs others took while tests ran: other programs, and the hypervisor for other machines. */

import { sharesBetween } from '../../plugin/samplers/machine/cpu-shares.ts';
import { MachineTime, type MachineTotals } from '../../plugin/samplers/machine/machine-time.ts';

const INTERVAL_MS = 1000;

export class OtherWork {
  readonly #machine: Pick<MachineTime, 'read'>;
  readonly #pid: number;
  readonly #readings: MachineTotals[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** @param pid what it starts is no other work, nor what that starts */
  constructor(pid: number, machine: Pick<MachineTime, 'read'> = new MachineTime()) {
    this.#pid = pid;
    this.#machine = machine;
  }

  /** Reads once a second from now on, as daemons are known by what has started them only while that lasts. */
  async start(): Promise<void> {
    await this.read();
    this.#timer = setInterval(() => void this.read(), INTERVAL_MS).unref();
  }

  async read(): Promise<void> {
    // Where the kernel does not tell, nothing is known of others.
    const reading = await this.#machine.read([this.#pid]).catch(() => undefined);
    if (reading) this.#readings.push(reading);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** @returns 1 is all CPUs, between two times on the clock of `performance`; 0 where it is not known */
  share(fromMs: number, toMs: number): number {
    const from = this.#readings.findLast(({ atMs }) => atMs <= fromMs) ?? this.#readings[0];
    const to = this.#readings.find(({ atMs }) => atMs >= toMs) ?? this.#readings.at(-1);
    const shares = from && to && sharesBetween(from, to);
    if (!shares) return 0;
    return ((shares.othersCores ?? 0) + shares.stealCores) / shares.cores;
  }
}
