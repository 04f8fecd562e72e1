/** A worker that repeats old statistics describes the past. */
import type { RunContext } from '../context.ts';
import { ADMIN_INTERVAL_MS } from '../receivers/admin-ui.ts';
import type { Counted } from './counted.ts';
import type { WarningsOnce } from './warnings.ts';

/** Statistics read this long apart differ, even if a worker rounds its uptime to seconds. */
const STALE_AFTER_MS = 2000;

export class StatisticsAge {
  readonly #context: RunContext;
  readonly #warnings: WarningsOnce;
  /** In the order of the control URLs. */
  #uptimes = { seconds: [] as number[], readAtMs: 0 };

  constructor(context: RunContext, warnings: WarningsOnce) {
    this.#context = context;
    this.#warnings = warnings;
  }

  begin(workers: Counted[]): void {
    this.#uptimes = uptimesOf(workers);
  }

  check(workers: Counted[], when: string): void {
    const { seconds, readAtMs } = this.#uptimes;
    const { adminUi } = this.#context;
    if (performance.now() - readAtMs < (adminUi ? 2 * ADMIN_INTERVAL_MS : STALE_AFTER_MS)) return;
    this.#uptimes = uptimesOf(workers);
    const still = workers.filter(({ uptimeSeconds }, index) => uptimeSeconds === seconds[index]);
    if (still.length === 0) return;
    const names = still.map(({ worker }) => worker).join(', ');
    const message = adminUi
      ? `${when}, ${names} had sent the admin UI nothing new${adminUi.connected ? '' : ': the connection to it has ended'}`
      : `${when}, ${names} sent the same statistics as before`;
    this.#warnings.warn('STATISTICS_STALE', message);
  }
}

function uptimesOf(workers: Counted[]): { seconds: number[]; readAtMs: number } {
  return { seconds: workers.map(({ uptimeSeconds }) => uptimeSeconds), readAtMs: performance.now() };
}
