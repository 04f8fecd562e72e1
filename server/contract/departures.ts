/** Schedules broadcasts: each is sent at its time, and in the order of these times. */
import { monotonicUs } from '../../protocol/base/clock/clock.ts';

/** Limit of the wait: a later time can only come from a wrong clock. */
const MAX_AHEAD_MS = 1000;

export class Departures {
  /** Sorted by time. */
  readonly #scheduled: { atUs: number; send: () => void }[] = [];

  /**
   * Waits until `wantedUs`. Node's timers of different durations overtake each other when the event loop is late, so the first timer that
   * fires also releases all broadcasts with earlier times.
   */
  async at(wantedUs: number): Promise<void> {
    const atUs = Math.min(wantedUs, monotonicUs() + MAX_AHEAD_MS * 1000);
    const left = new Promise<void>((send) => {
      const position = this.#scheduled.findLastIndex((scheduled) => scheduled.atUs <= atUs) + 1;
      this.#scheduled.splice(position, 0, { atUs, send });
    });
    callAt(atUs, () => this.#release(atUs));
    await left;
  }

  #release(atUs: number): void {
    const later = this.#scheduled.findIndex((scheduled) => scheduled.atUs > atUs);
    const due = this.#scheduled.splice(0, later < 0 ? this.#scheduled.length : later);
    for (const { send } of due) send();
  }
}

/** Calls `send` at `atUs`. Timers count whole milliseconds and fire late, so the last 2 ms are polled with setImmediate. */
function callAt(atUs: number, send: () => void): void {
  const aheadMs = (atUs - monotonicUs()) / 1000;
  if (aheadMs > 2) setTimeout(() => callAt(atUs, send), aheadMs - 2);
  else if (aheadMs > 0) setImmediate(() => callAt(atUs, send));
  else send();
}
