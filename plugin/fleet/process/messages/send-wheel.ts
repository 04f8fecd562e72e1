/**
 * Schedule of repeated messages: each connection sends once per period, at its own time. It is absolute: its times are those of the clock
 * itself, so that all processes of a host share it, and a late send delays no other.
 */

/** Per period, so that a long one does not take more memory. */
const SLOTS = 10_000;
/** Node's timers have no finer steps. */
const MIN_SLOT_US = 1000;
/** Multiples of it, without their whole part, are spread evenly, however many there are: see docs/method/delivery.md. */
const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2;

/** A place in the schedule. */
export interface Turn {
  /** Its place on the wheel. */
  readonly slot: number;
}

export class SendWheel<T extends Turn> {
  readonly #periodUs: number;
  readonly #slotUs: number;
  readonly #slots: T[][];
  #size = 0;
  /** Everything that was due before this slot has been handed out. Counts on through all periods. */
  #next: number;

  /** @param periodUs a whole number, of at least a millisecond */
  constructor(periodUs: number, nowUs: number) {
    this.#periodUs = periodUs;
    this.#slotUs = Math.max(MIN_SLOT_US, Math.floor(periodUs / SLOTS));
    this.#slots = Array.from({ length: Math.floor(periodUs / this.#slotUs) }, () => []);
    this.#next = this.#after(nowUs);
  }

  /** @param index of the connection among all of the run: any number of them is spread evenly over the period */
  slotOf(index: number): number {
    return Math.floor(((index * GOLDEN_RATIO) % 1) * this.#slots.length);
  }

  /** Starts now. Call `advance` first, to hand out due entries. */
  add(turn: T): void {
    this.#slots[turn.slot]?.push(turn);
    this.#size++;
  }

  /** Does nothing if it is not there. */
  remove(turn: T): void {
    const slot = this.#slots[turn.slot] as T[];
    const index = slot.indexOf(turn);
    if (index < 0) return;
    slot.splice(index, 1);
    this.#size--;
  }

  /** Hands out due entries in order, each once. */
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

  /** @returns when the next one is due; undefined if nobody is there */
  nextDueAtUs(): number | undefined {
    if (this.#size === 0) return undefined;
    const slots = this.#slots.length;
    let next = this.#next;
    while (this.#slots[next % slots]?.length === 0) next++;
    return this.#dueAtUs(next);
  }

  /** How often a slot is due after the first instant, up to and including the second. */
  dueBetween({ slot }: Turn, fromUs: number, toUs: number): number {
    const laps = (untilUs: number) => Math.floor((untilUs - slot * this.#slotUs) / this.#periodUs);
    return laps(toUs) - laps(fromUs);
  }

  #dueAtUs(position: number): number {
    const slots = this.#slots.length;
    return Math.floor(position / slots) * this.#periodUs + (position % slots) * this.#slotUs;
  }

  /** @returns the first position that is due later */
  #after(nowUs: number): number {
    const slots = this.#slots.length;
    const lap = Math.floor(nowUs / this.#periodUs);
    return lap * slots + Math.min(slots, Math.floor((nowUs - lap * this.#periodUs) / this.#slotUs) + 1);
  }
}
