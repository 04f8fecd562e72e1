/**
 * Schedule of repeated messages: each connection sends once per period, at its own time. The send times depend only on
 * the clock. So all processes of a host share the schedule, and a late send does not delay later sends.
 */

/** Largest number of slots into which a period is divided. It limits the memory for a long period. */
const SLOTS = 10_000;
/** Shortest duration of a slot in microseconds: the resolution of Node's timers. */
const MIN_SLOT_US = 1000;
/**
 * Golden ratio. The fractional parts of its multiples are evenly spread, however many there are
 * (docs/method/delivery.md).
 */
const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2;

export interface SendTurn {
  readonly slot: number;
}

export class SendWheel<T extends SendTurn> {
  readonly #periodUs: number;
  readonly #slotUs: number;
  readonly #slots: T[][];
  #size = 0;
  /**
   * Number of the next slot to send, counted from the start over all periods. Everything due before this slot has been
   * sent.
   */
  #next: number;

  /**
   * Creates an empty schedule.
   * @param periodUs period in whole microseconds; at least a millisecond
   */
  constructor(periodUs: number, nowUs: number) {
    this.#periodUs = periodUs;
    this.#slotUs = Math.max(MIN_SLOT_US, Math.floor(periodUs / SLOTS));
    this.#slots = Array.from({ length: Math.floor(periodUs / this.#slotUs) }, () => []);
    this.#next = this.#after(nowUs);
  }

  /**
   * Returns the slot in which a connection sends. Any number of connections is spread evenly over the period.
   * @param index number of the connection in the run
   */
  slotOf(index: number): number {
    return Math.floor(((index * GOLDEN_RATIO) % 1) * this.#slots.length);
  }

  /**
   * Adds an entry. It sends at its slot of each period, from this period on. Call `advance` first, so that passed slots
   * are skipped.
   */
  add(turn: T): void {
    this.#slots[turn.slot]?.push(turn);
    this.#size++;
  }

  remove(turn: T): void {
    const slot = this.#slots[turn.slot] as T[];
    const index = slot.indexOf(turn);
    if (index < 0) return;
    slot.splice(index, 1);
    this.#size--;
  }

  /** Calls `send` for every entry that is due, in order and once per period. */
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

  /** Returns the time at which the next entry is due; undefined if there are no entries. */
  nextDueAtUs(): number | undefined {
    if (this.#size === 0) return undefined;
    const slots = this.#slots.length;
    let next = this.#next;
    while (this.#slots[next % slots]?.length === 0) next++;
    return this.#dueAtUs(next);
  }

  /** Returns how often an entry is due after `fromUs`, up to and including `toUs`. */
  dueBetween({ slot }: SendTurn, fromUs: number, toUs: number): number {
    const laps = (untilUs: number) => Math.floor((untilUs - slot * this.#slotUs) / this.#periodUs);
    return laps(toUs) - laps(fromUs);
  }

  #dueAtUs(position: number): number {
    const slots = this.#slots.length;
    return Math.floor(position / slots) * this.#periodUs + (position % slots) * this.#slotUs;
  }

  /** Returns the first slot that is due after the given time. */
  #after(nowUs: number): number {
    const slots = this.#slots.length;
    const lap = Math.floor(nowUs / this.#periodUs);
    return lap * slots + Math.min(slots, Math.floor((nowUs - lap * this.#periodUs) / this.#slotUs) + 1);
  }
}
