/** Records the event loop delay of a worker each second. A run requests it; otherwise it uses no CPU. */

import { BoundedSeries } from '../../protocol/base/bounded-series.ts';
import type { WorkerEventLoop } from '../../protocol/wire/events.ts';
import { EventLoopWindow } from './worker-stats.ts';

const INTERVAL_MS = 1000;
/** Maximum number of rows. In a long run, neighbouring rows are merged, so a row covers several seconds. */
const MAX_ROWS = 200;

interface Row {
  seconds: number;
  delayP99Ms: number;
  delayMaxMs: number;
}

export class EventLoopHistory {
  #recording: { series: BoundedSeries<Row>; stop(): void } | undefined;

  /** Ends the recording and returns its rows. Starts a new recording if `record` is true. */
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
