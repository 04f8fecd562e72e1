/**
 * The broadcasts of an own event that this process has seen: gives each id the number under which the ledger counts its
 * copies. Which of them the run counts, it decides later, when it knows what all processes have seen.
 */
import type { Sightings as Report, Sighting } from '../../../protocol/link.ts';
import type { OwnEventCopy } from '../client.ts';
import type { Ledger } from './ledger.ts';

/** No row: its copies are none of the run's broadcasts. */
const NOT_COUNTED = 0;
/** Ids that are remembered while nobody counts: their last copies may arrive when somebody does. */
const KEPT_BEFORE = 1000;
/** More than that are not remembered; the copies of each further one count as its first. */
const MAX_IDS = 100_000;
/** Of all open rows; one has a number for each connection. */
const ROW_BYTES = 64 * 1024 ** 2;
const BYTES_PER_SLOT = 4;
const MIN_SLOTS = 1000;
const MAX_SENT_AT_LENGTH = 100;

interface Seen extends Pick<Sighting, 'id' | 'firstAtUs' | 'sentAt' | 'bytes'> {
  number: number;
}

export class Sightings {
  readonly #seen = new Map<string, Seen>();
  readonly #ledger: Pick<Ledger, 'slots' | 'reachedBy'>;
  #watching = false;
  #rows = 0;
  #lastNumber = 0;
  #unmatched = 0;
  #example: string | undefined;
  /** Of the previous copy: each broadcast reaches many connections in a row. */
  #last: Seen | undefined;

  constructor(ledger: Pick<Ledger, 'slots' | 'reachedBy'>) {
    this.#ledger = ledger;
  }

  /** Counts the ids that appear from now on, or no more new ones. */
  watch(watching: boolean): void {
    this.#watching = watching;
  }

  report(): Report {
    const ids = [...this.#seen.values()].map(({ number, ...sighting }) => ({
      ...sighting,
      reached: this.#ledger.reachedBy(number),
      counted: number !== NOT_COUNTED,
    }));
    return { ids, unmatched: this.#unmatched, example: this.#example };
  }

  /** @returns the ledger's number of the broadcast; 0 if it is not counted */
  numberOf(id: string, receivedAtUs: number, copy: OwnEventCopy): number {
    if (this.#last?.id === id) return this.#last.number;
    let seen = this.#seen.get(id);
    if (!seen) {
      seen = { id, firstAtUs: receivedAtUs, sentAt: sentAtOf(copy), bytes: copy.bytes(), number: this.#nextNumber() };
      this.#remember(seen);
    }
    this.#last = seen;
    return seen.number;
  }

  /** A copy whose id cannot be found. @param example what arrived */
  unmatched(example: string | undefined): void {
    this.#unmatched++;
    this.#example ??= example;
  }

  /**
   * The broadcast's row is being finalized.
   * @param sentAtUs places one that no connection of this process has received among the others
   * @returns its number in the ledger
   */
  finalize(id: string, sentAtUs: number): number {
    const seen = this.#seen.get(id);
    if (seen && seen.number !== NOT_COUNTED) {
      this.#rows--;
      return seen.number;
    }
    let before = 0;
    for (const { number, firstAtUs } of this.#seen.values())
      if (firstAtUs < sentAtUs) before = Math.max(before, number);
    const number = before + 0.5;
    // It may have come here since the run asked for the ids: then it was too late.
    if (seen) seen.number = number;
    else this.#remember({ id, firstAtUs: sentAtUs, sentAt: undefined, bytes: 0, number });
    return number;
  }

  #nextNumber(): number {
    const rowBytes = Math.max(this.#ledger.slots, MIN_SLOTS) * BYTES_PER_SLOT;
    if (!this.#watching || this.#rows * rowBytes >= ROW_BYTES || this.#seen.size >= MAX_IDS) return NOT_COUNTED;
    this.#rows++;
    return ++this.#lastNumber;
  }

  #remember(seen: Seen): void {
    if (this.#seen.size >= MAX_IDS) return;
    this.#seen.set(seen.id, seen);
    if (this.#watching || this.#seen.size <= KEPT_BEFORE) return;
    for (const [id, { number }] of this.#seen) {
      if (number === NOT_COUNTED) this.#seen.delete(id);
      break;
    }
  }
}

function sentAtOf(copy: OwnEventCopy): string | number | undefined {
  const value = copy.sentAt();
  if (typeof value === 'number') return value;
  return typeof value === 'string' && value.length <= MAX_SENT_AT_LENGTH ? value : undefined;
}
