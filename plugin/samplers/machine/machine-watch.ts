/** Who uses the CPUs of this machine, whenever it is asked; now and then it looks by itself, as processes come and go. */
import type { MachineShares } from '../../../protocol/result/machine-schema.ts';
import { sharesBetween } from './cpu-shares.ts';
import { MachineTime, type MachineTotals } from './machine-time.ts';

/** Share of the time that reading all processes of the machine may take. */
const SHARE = 0.01;
const MAX_INTERVAL_MS = 5000;

export class MachineWatch {
  readonly #roots: () => Promise<number[] | undefined>;
  readonly #time: Pick<MachineTime, 'read'>;
  #dueMs = 0;
  #latest: MachineTotals | undefined;
  #taken: MachineTotals | undefined;

  /** @param roots as of `MachineTime.read` */
  constructor(roots: () => Promise<number[] | undefined>, time: Pick<MachineTime, 'read'> = new MachineTime()) {
    this.#roots = roots;
    this.#time = time;
  }

  /** @returns undefined where this machine does not tell. Never rejects */
  async totals(): Promise<MachineTotals | undefined> {
    const roots = await this.#roots().catch(() => undefined);
    return this.#time.read(roots).catch(() => undefined);
  }

  /** Looks if it is time for it. Never rejects. @returns since it looked before; undefined if it has not looked */
  async tick(): Promise<MachineShares | undefined> {
    const beganMs = performance.now();
    if (beganMs < this.#dueMs) return undefined;
    this.#dueMs = Number.POSITIVE_INFINITY;
    const before = this.#latest;
    const now = await this.totals();
    this.#latest = now ?? before;
    this.#dueMs = beganMs + Math.min(MAX_INTERVAL_MS, (performance.now() - beganMs) / SHARE);
    return before && now && sharesBetween(before, now);
  }

  /** @returns since the last call, as far as readings have come; undefined without a new one */
  takeShares(): MachineShares | undefined {
    const [from, to] = [this.#taken, this.#latest];
    this.#taken = to;
    return from && to && sharesBetween(from, to);
  }
}
