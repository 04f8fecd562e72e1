import type { FailureCode } from '../../protocol/codes/failure-codes.ts';
import { type MetricName, USER_METRICS } from './user-metrics.ts';
import type { ScenarioEvents } from './user-types.ts';

const FLUSH_INTERVAL_MS = 1000;

/**
 * Passes metrics of the engine to Artillery. Artillery stores every call until the end of its reporting period, so
 * counters are added up and sent once per second. Times are sent together with the counters. Rates are sent at once,
 * because Artillery records the time of the call.
 */
export class Meter {
  #events: ScenarioEvents | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #counts = new Map<string, number>();
  #times: { name: string; valueMs: number }[] = [];

  /**
   * Sets the event emitter to which metrics are sent.
   * @param events event emitter of a scenario; all scenarios of a worker have the same one
   */
  attach(events: ScenarioEvents): void {
    this.#events = events;
    this.#timer ??= setInterval(() => this.flush(), FLUSH_INTERVAL_MS).unref();
  }

  /**
   * Counts an event.
   * @param suffix last part of the metric's name, if it is counted by reason
   */
  count(metric: MetricName, suffix?: string, by = 1): void {
    const { name } = USER_METRICS[metric];
    const full = suffix === undefined ? name : `${name}.${suffix}`;
    this.#counts.set(full, (this.#counts.get(full) ?? 0) + by);
  }

  record(metric: MetricName, valueMs: number): void {
    this.#times.push({ name: USER_METRICS[metric].name, valueMs });
  }

  rate(metric: MetricName): void {
    this.#events?.emit('rate', USER_METRICS[metric].name);
  }

  error(code: FailureCode): void {
    this.#events?.emit('error', code);
  }

  /**
   * Sends the collected metrics. Must be called before the last virtual user ends, because Artillery ignores later
   * metrics.
   */
  flush(): void {
    for (const [name, count] of this.#counts) this.#events?.emit('counter', name, count);
    this.#counts.clear();
    for (const { name, valueMs } of this.#times) this.#events?.emit('histogram', name, valueMs);
    this.#times = [];
  }

  close(): void {
    this.flush();
    clearInterval(this.#timer);
  }
}
