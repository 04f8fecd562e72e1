/** Reads the CPU use of this machine, on request and from time to time, as processes start and exit. */
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

  /** @param roots see `MachineTime.read` */
  constructor(roots: () => Promise<number[] | undefined>, time: Pick<MachineTime, 'read'> = new MachineTime()) {
    this.#roots = roots;
    this.#time = time;
  }

  /** @returns undefined if the kernel does not report it. Never rejects */
  async totals(): Promise<MachineTotals | undefined> {
    const roots = await this.#roots().catch(() => undefined);
    return this.#time.read(roots).catch(() => undefined);
  }

  /** Makes a reading if one is due. Never rejects. @returns shares since the reading before; undefined if it made none */
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

  /** @returns shares between the readings at the last call and now; undefined without a new reading */
  takeShares(): MachineShares | undefined {
    const [from, to] = [this.#taken, this.#latest];
    this.#taken = to;
    return from && to && sharesBetween(from, to);
  }
}
