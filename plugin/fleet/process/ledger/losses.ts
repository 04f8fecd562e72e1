/** Copies that each connection lost while it was open: tells many connections that lost few from few that lost all. */
import { createHistogram, encodeHistogram, recordUs } from '../../../../protocol/base/histogram.ts';
import type { LossTotals } from '../../../../protocol/link/ledger-messages.ts';
import { grown } from './members.ts';

/** Receipts of a connection so far. */
const NOTHING = 0;
const ALL_SINCE_FIRST = 1;
const SOME = 2;

export class Losses {
  /** Slot → broadcasts that were for it. */
  #expected: Uint32Array = new Uint32Array(64);
  /** Slot → broadcasts lost while it was open. */
  #lost: Uint32Array = new Uint32Array(64);
  #pattern: Uint8Array = new Uint8Array(64);
  /** Slot → milliseconds from its join to the first broadcast that it received, or until then to the last that it lost. */
  #sinceJoinMs: Uint32Array = new Uint32Array(64);

  /** @param sinceJoinUs from the connection's join to the send; broadcasts come in their order */
  add(slot: number, isLost: boolean, sinceJoinUs: number): void {
    if (slot >= this.#expected.length) {
      this.#expected = grown(this.#expected, slot + 1);
      this.#lost = grown(this.#lost, slot + 1);
      this.#pattern = grown(this.#pattern, slot + 1);
      this.#sinceJoinMs = grown(this.#sinceJoinMs, slot + 1);
    }
    this.#expected[slot] = (this.#expected[slot] as number) + 1;
    if (this.#pattern[slot] === NOTHING) {
      this.#sinceJoinMs[slot] = sinceJoinUs / 1000;
      if (!isLost) this.#pattern[slot] = ALL_SINCE_FIRST;
    } else if (isLost) this.#pattern[slot] = SOME;
    if (isLost) this.#lost[slot] = (this.#lost[slot] as number) + 1;
  }

  totals(): LossTotals {
    const counts = { members: 0, losers: 0, gotNothing: 0 };
    const [lost, expected, started, unstarted] = Array.from({ length: 4 }, createHistogram) as [H, H, H, H];
    this.#expected.forEach((of, slot) => {
      if (of === 0) return;
      counts.members++;
      const count = this.#lost[slot] as number;
      if (count === 0) return;
      counts.losers++;
      recordUs(expected, of);
      const sinceJoinUs = 1000 * (this.#sinceJoinMs[slot] as number);
      if (count === of) {
        counts.gotNothing++;
        recordUs(unstarted, sinceJoinUs);
        return;
      }
      recordUs(lost, count);
      if (this.#pattern[slot] === ALL_SINCE_FIRST) recordUs(started, sinceJoinUs);
    });
    const [startedUs, unstartedUs] = [started, unstarted].map(encodeHistogram) as [string, string];
    return { ...counts, lost: encodeHistogram(lost), expected: encodeHistogram(expected), startedUs, unstartedUs };
  }
}

type H = ReturnType<typeof createHistogram>;
