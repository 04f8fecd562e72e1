/** A worker that repeats old statistics describes the past. */
import type { WorkerStats } from '../../../protocol/events.ts';
import type { WarningsOnce } from './warnings.ts';

/** Statistics read this long apart differ, even if a worker rounds its uptime to seconds. */
const STALE_AFTER_MS = 2000;

export class StatisticsAge {
  readonly #warnings: WarningsOnce;
  /** In the order of the control URLs. */
  #uptimes = { seconds: [] as number[], readAtMs: 0 };

  constructor(warnings: WarningsOnce) {
    this.#warnings = warnings;
  }

  begin(workers: WorkerStats[]): void {
    this.#uptimes = uptimesOf(workers);
  }

  check(workers: WorkerStats[], when: string): void {
    const { seconds, readAtMs } = this.#uptimes;
    if (performance.now() - readAtMs < STALE_AFTER_MS) return;
    this.#uptimes = uptimesOf(workers);
    const still = workers.filter(({ uptimeSeconds }, index) => uptimeSeconds === seconds[index]);
    if (still.length === 0) return;
    const names = still.map(({ worker }) => worker).join(', ');
    const fix = 'let control reach the server itself: a cache or a gateway in between repeats old statistics';
    this.#warnings.warn('WORKER_URLS_WRONG', `${when}, ${names} sent the same statistics as before`, fix);
  }
}

function uptimesOf(workers: WorkerStats[]): { seconds: number[]; readAtMs: number } {
  return { seconds: workers.map(({ uptimeSeconds }) => uptimeSeconds), readAtMs: performance.now() };
}
