/** When broadcasts leave: each at its time, and none before one that was to leave earlier. */
import { monotonicUs } from '../../protocol/base/clock/clock.ts';

/** A request for a later time than this is due to a wrong clock. */
const MAX_AHEAD_MS = 1000;

export class Departures {
  /** By time. */
  readonly #waiting: { atUs: number; leave: () => void }[] = [];

  /**
   * Node's timers of different durations overtake each other when the event loop is late, so whoever is the first to find its
   * time come lets the earlier ones go before it.
   */
  async at(wantedUs: number): Promise<void> {
    const atUs = Math.min(wantedUs, monotonicUs() + MAX_AHEAD_MS * 1000);
    const left = new Promise<void>((leave) => {
      const place = this.#waiting.findLastIndex((other) => other.atUs <= atUs) + 1;
      this.#waiting.splice(place, 0, { atUs, leave });
    });
    whenDue(atUs, () => this.#letGo(atUs));
    await left;
  }

  #letGo(atUs: number): void {
    const later = this.#waiting.findIndex((one) => one.atUs > atUs);
    const due = this.#waiting.splice(0, later < 0 ? this.#waiting.length : later);
    for (const { leave } of due) leave();
  }
}

/** Timers count whole milliseconds and fire late, so the last 2 ms are spent polling with setImmediate. */
function whenDue(atUs: number, leave: () => void): void {
  const aheadMs = (atUs - monotonicUs()) / 1000;
  if (aheadMs > 2) setTimeout(() => whenDue(atUs, leave), aheadMs - 2);
  else if (aheadMs > 0) setImmediate(() => whenDue(atUs, leave));
  else leave();
}
