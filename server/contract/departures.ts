/** Schedules broadcasts. Each is sent at its time, in the order of the times. */
import { monotonicUs } from '../../protocol/base/clock/clock.ts';

/** Maximum wait. A time further ahead can only come from a wrong clock. */
const MAX_AHEAD_MS = 1000;

export class RoomDepartures {
  /** Scheduled broadcasts, sorted by time. */
  readonly #scheduled: { atUs: number; send: () => void }[] = [];

  /**
   * Waits until `wantedUs`. If the event loop is late, Node's timers can fire in the wrong order. The first timer that
   * fires therefore also releases all broadcasts with earlier times.
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

/**
 * Calls `send` at `atUs`. Timers have a resolution of 1 ms and fire late, so the last 2 ms are polled with
 * setImmediate.
 */
function callAt(atUs: number, send: () => void): void {
  const aheadMs = (atUs - monotonicUs()) / 1000;
  if (aheadMs > 2) setTimeout(() => callAt(atUs, send), aheadMs - 2);
  else if (aheadMs > 0) setImmediate(() => callAt(atUs, send));
  else send();
}
