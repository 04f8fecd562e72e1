/** The event loop of a worker, second by second, while a run has it recorded: it costs nothing at other times. */

import { BoundedSeries } from '../../protocol/base/bounded-series.ts';
import type { WorkerEventLoop } from '../../protocol/wire/events.ts';
import { EventLoopWindow } from './worker-stats.ts';

const INTERVAL_MS = 1000;
/** In a long run, each stands for several seconds. */
const MAX_ROWS = 200;

interface Row {
  seconds: number;
  delayP99Ms: number;
  delayMaxMs: number;
}

export class EventLoopHistory {
  #recording: { series: BoundedSeries<Row>; stop(): void } | undefined;

  /** @returns what was recorded until now; after this, nothing is recorded, or a new recording begins */
  next(record: boolean): Omit<WorkerEventLoop, 'worker'> {
    const rows = this.#recording?.series.rows ?? [];
    this.close();
    if (record) this.#recording = startRecording();
    return {
      seconds: rows.map(({ seconds }) => round(seconds, 10)),
      delayP99Ms: rows.map(({ delayP99Ms }) => round(delayP99Ms, 100)),
      delayMaxMs: rows.map(({ delayMaxMs }) => round(delayMaxMs, 100)),
    };
  }

  /** Idempotent. */
  close(): void {
    this.#recording?.stop();
    this.#recording = undefined;
  }
}

function startRecording() {
  const series = new BoundedSeries<Row>(MAX_ROWS, (older, newer) => ({
    seconds: newer.seconds,
    delayP99Ms: Math.max(older.delayP99Ms, newer.delayP99Ms),
    delayMaxMs: Math.max(older.delayMaxMs, newer.delayMaxMs),
  }));
  const beganMs = performance.now();
  const loop = new EventLoopWindow();
  const timer = setInterval(() => {
    const { delayP99Ms, delayMaxMs } = loop.next();
    series.add({ seconds: (performance.now() - beganMs) / 1000, delayP99Ms, delayMaxMs });
  }, INTERVAL_MS);
  timer.unref();
  return {
    series,
    stop: () => {
      clearInterval(timer);
      loop.close();
    },
  };
}

function round(value: number, steps: number): number {
  return Math.round(value * steps) / steps;
}
