/** How a worker handles the batches of events that its clients send, in windows, each from one `next()` to the following one. */
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import type { WorkerBatches } from '../../protocol/wire/events.ts';
import { EventLoopWindow } from '../control/worker-stats.ts';

const NS_PER_MS = 1e6;

export class BatchWindow {
  #batches = 0;
  #ownHandler = 0;
  #events = 0;
  readonly #handlerNs: RecordableHistogram = createHistogram();
  /** Its own, as others read that of the statistics; and only once somebody asks, as its timer costs CPU. */
  #eventLoop: EventLoopWindow | undefined;

  add(events: number, handlerMs: number): void {
    this.#batches++;
    this.#events += events;
    this.#handlerNs.record(Math.max(1, Math.round(handlerMs * NS_PER_MS)));
  }

  /** The server's own handler decides what becomes of a batch. */
  leave(): void {
    this.#ownHandler++;
  }

  /** @returns the current window, and starts the next one */
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
