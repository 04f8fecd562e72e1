/** Copies that each connection lost while it was open: tells many connections that lost few from few that lost all. */
import { createHistogram, encodeHistogram, recordUs } from '../../../../protocol/histogram.ts';
import type { LossTotals } from '../../../../protocol/link/ledger.ts';
import { grown } from './members.ts';

export class Losses {
  /** Slot → broadcasts that were for it. */
  #expected: Uint32Array = new Uint32Array(64);
  /** Slot → those that it lost while it was open. */
  #lost: Uint32Array = new Uint32Array(64);

  add(slot: number, isLost: boolean): void {
    if (slot >= this.#expected.length) {
      this.#expected = grown(this.#expected, slot + 1);
      this.#lost = grown(this.#lost, slot + 1);
    }
    this.#expected[slot] = (this.#expected[slot] as number) + 1;
    if (isLost) this.#lost[slot] = (this.#lost[slot] as number) + 1;
  }

  totals(): LossTotals {
    const counts = { members: 0, losers: 0, gotNothing: 0 };
    const lost = createHistogram();
    const expected = createHistogram();
    this.#expected.forEach((of, slot) => {
      if (of === 0) return;
      counts.members++;
      const count = this.#lost[slot] as number;
      if (count === 0) return;
      counts.losers++;
      recordUs(expected, of);
      if (count === of) counts.gotNothing++;
      else recordUs(lost, count);
    });
    return { ...counts, lost: encodeHistogram(lost), expected: encodeHistogram(expected) };
  }
}
