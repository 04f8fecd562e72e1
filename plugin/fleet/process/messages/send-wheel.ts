/**
 * Schedule of repeated messages: each connection sends once per period, at its own time. The schedule is absolute, by the
 * clock itself. So all processes of a host share it, and a late send delays no other.
 */

/** Number of slots per period, so that a long period does not take more memory. */
const SLOTS = 10_000;
/** Shortest slot: the resolution of Node's timers. */
const MIN_SLOT_US = 1000;
/** Fractional parts of its multiples are spread evenly, for any number of multiples: see docs/method/delivery.md. */
const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2;

export interface Turn {
  readonly slot: number;
}

export class SendWheel<T extends Turn> {
  readonly #periodUs: number;
  readonly #slotUs: number;
  readonly #slots: T[][];
  #size = 0;
  /** Next slot to send, counted through all periods. All entries due before it have been sent. */
  #next: number;

  /** @param periodUs whole number, at least a millisecond */
  constructor(periodUs: number, nowUs: number) {
    this.#periodUs = periodUs;
    this.#slotUs = Math.max(MIN_SLOT_US, Math.floor(periodUs / SLOTS));
    this.#slots = Array.from({ length: Math.floor(periodUs / this.#slotUs) }, () => []);
    this.#next = this.#after(nowUs);
  }

  /** @param index index of the connection among all of the run; any number of connections is spread evenly over the period */
  slotOf(index: number): number {
    return Math.floor(((index * GOLDEN_RATIO) % 1) * this.#slots.length);
  }

  /** Adds an entry, due from now on. Call `advance` first, to send due entries. */
  add(turn: T): void {
    this.#slots[turn.slot]?.push(turn);
    this.#size++;
  }

  /** Removes an entry, if present. */
  remove(turn: T): void {
    const slot = this.#slots[turn.slot] as T[];
    const index = slot.indexOf(turn);
    if (index < 0) return;
    slot.splice(index, 1);
    this.#size--;
  }

  /** Sends due entries in order, each once. */
  advance(nowUs: number, send: (turn: T, dueAtUs: number) => void): void {
    if (this.#size === 0) {
      this.#next = this.#after(nowUs);
      return;
    }
    for (let dueAtUs = this.#dueAtUs(this.#next); dueAtUs <= nowUs; dueAtUs = this.#dueAtUs(this.#next)) {
      const slot = this.#slots[this.#next++ % this.#slots.length] as T[];
      for (const turn of slot) send(turn, dueAtUs);
    }
  }

  /** Returns when the next entry is due; undefined if there are none. */
  nextDueAtUs(): number | undefined {
    if (this.#size === 0) return undefined;
    const slots = this.#slots.length;
    let next = this.#next;
    while (this.#slots[next % slots]?.length === 0) next++;
    return this.#dueAtUs(next);
  }

  /** Returns how often a slot is due after the first instant, up to and including the second. */
  dueBetween({ slot }: Turn, fromUs: number, toUs: number): number {
    const laps = (untilUs: number) => Math.floor((untilUs - slot * this.#slotUs) / this.#periodUs);
    return laps(toUs) - laps(fromUs);
  }

  #dueAtUs(position: number): number {
    const slots = this.#slots.length;
    return Math.floor(position / slots) * this.#periodUs + (position % slots) * this.#slotUs;
  }

  /** Returns the first slot that is due after this time. */
  #after(nowUs: number): number {
    const slots = this.#slots.length;
    const lap = Math.floor(nowUs / this.#periodUs);
    return lap * slots + Math.min(slots, Math.floor((nowUs - lap * this.#periodUs) / this.#slotUs) + 1);
  }
}
