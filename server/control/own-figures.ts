/** Counters and measurements of the worker's process, for both Socket.IO and plain servers. */

import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import type { WorkerBatches } from '../../protocol/wire/events.ts';
import { HandlerGuard } from '../guard.ts';
import { createWorkerMetrics } from './metrics.ts';
import { EventLoopWindow, GarbageCollectionCount } from './worker-stats.ts';

interface Counts {
  connections(): number;
  /** Returns the number of connections accepted since the start. */
  accepted(): number;
  rooms(): number;
  namespaces?(): number;
}

export type WorkerOwnFigures = ReturnType<typeof createOwnFigures>;

export function createOwnFigures(worker: string, counts: Counts) {
  const eventLoop = new EventLoopWindow();
  const [collections, batches] = [new GarbageCollectionCount(), new BatchWindow()];
  const metrics = createWorkerMetrics(counts, worker, eventLoop);
  const guard = new HandlerGuard({ malformed: metrics.countMalformed, closed: metrics.countClosed });
  const close = () => {
    for (const figure of [eventLoop, collections, batches]) figure.close();
  };
  return { worker, counts, eventLoop, collections, batches, metrics, guard, close };
}

/** Measures how a worker handles `event_batch`. A measurement lasts from one `next()` to the following `next()`. */
const NS_PER_MS = 1e6;

class BatchWindow {
  #batches = 0;
  #ownHandler = 0;
  #events = 0;
  readonly #handlerNs: RecordableHistogram = createHistogram();
  /**
   * Event loop monitor, separate from the monitor for statistics, which other requests reset. It is created at the
   * first `next()`, because its timer uses CPU.
   */
  #eventLoop: EventLoopWindow | undefined;

  add(events: number, handlerMs: number): void {
    this.#batches++;
    this.#events += events;
    this.#handlerNs.record(Math.max(1, Math.round(handlerMs * NS_PER_MS)));
  }

  /** Counts a batch that the server's own handler processes. */
  skip(): void {
    this.#ownHandler++;
  }

  /** Returns the measurement and starts the next one. */
  next(): Omit<WorkerBatches, 'worker'> {
    this.#eventLoop ??= new EventLoopWindow();
    const ms = (percentile: number) => this.#handlerNs.percentile(percentile) / NS_PER_MS;
    const window = {
      batches: this.#batches,
      ownHandler: this.#ownHandler,
      events: this.#events,
      handlerMs: this.#batches === 0 ? null : { p50: ms(50), p95: ms(95), max: this.#handlerNs.max / NS_PER_MS },
      eventLoop: this.#eventLoop.next(),
    };
    this.#batches = 0;
    this.#ownHandler = 0;
    this.#events = 0;
    this.#handlerNs.reset();
    return window;
  }

  close(): void {
    this.#eventLoop?.close();
  }
}
