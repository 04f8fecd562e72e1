/**
 * The broadcasts of an own event that this process has seen: gives each id the number under which the ledger counts its
 * copies. Which of them the run counts, it decides later, when it knows what all processes have seen; what it has
 * decided on takes no more room than its id.
 */
import type { Sightings as Report, Sighting } from '../../../../protocol/link/ledger-messages.ts';
import type { Copy } from '../../client/client.ts';
import { exampleOf } from '../../client/counted-event.ts';
import type { Ledger } from './ledger.ts';

/** In place of a number: the copy is late. */
export const FINALIZED = -1;
/** No row: its copies are none of the run's broadcasts. */
const NOT_COUNTED = 0;
/** Ids to remember while the run does not count: their last copies may arrive once it does. */
const KEPT_BEFORE = 1000;
/** More than that are not remembered; the copies of each further one count as its first. */
const MAX_IDS = 100_000;
/** All open rows together; a row has a number for each connection. */
const ROW_BYTES = 64 * 1024 ** 2;
const BYTES_PER_SLOT = 4;
const MIN_SLOTS = 1000;
const MAX_SENT_AT_LENGTH = 100;
/** Ids beside the counted ones. */
const MAX_OTHERS = 20;
/** A longer copy is not searched for them. */
const MAX_SEARCHED_BYTES = 64 * 1024;
/** A run publishes to some of them at most. */
const MAX_ROOMS = 1000;

type Rows = Pick<Ledger, 'members' | 'reachedBy'>;

interface Seen extends Pick<Sighting, 'id' | 'firstAtUs' | 'sentAt' | 'bytes'> {
  number: number;
}

export class Sightings {
  readonly #seen = new Map<string, Seen>();
  /** Columns for copies of ids that the run has finalized; the oldest comes first. */
  readonly #decided = new Map<string, typeof FINALIZED | typeof NOT_COUNTED>();
  readonly #ledger: Rows;
  readonly #maxRowBytes: number;
  readonly #firstReceipts = new FirstReceipts(MAX_IDS);
  #watching = false;
  /** The next report has the rooms that there are. */
  #namesRooms = false;
  readonly #others: [path: string, id: string][] = [];
  #rows = 0;
  #example: string | undefined;
  /** The previous copy's: each broadcast reaches many connections in a row. */
  #last: Pick<Seen, 'id' | 'number'> | undefined;

  constructor(ledger: Rows, maxRowBytes = ROW_BYTES) {
    this.#ledger = ledger;
    this.#maxRowBytes = maxRowBytes;
  }

  /** Counts the ids that appear from now on, or no more new ones. */
  watch(watching: boolean): void {
    this.#namesRooms = watching && !this.#watching;
    if (this.#namesRooms) this.#others.length = 0;
    this.#watching = watching;
  }

  report(): Report {
    const ids = [...this.#seen.values()].map(({ number, ...sighting }) => ({
      ...sighting,
      reached: this.#ledger.reachedBy(number),
      counted: number !== NOT_COUNTED,
    }));
    const report = { ids, filled: this.#filled(), example: this.#example };
    const rooms = this.#namesRooms ? this.#ledger.members.sample(MAX_ROOMS) : undefined;
    this.#namesRooms = false;
    return { ...report, others: this.#others, rooms };
  }

  /** @returns the ledger's number of the broadcast; 0 if it is not counted, `FINALIZED` if that is over */
  numberOf(id: string, receivedAtUs: number, copy: Copy): number {
    let seen = this.#last;
    if (seen?.id !== id) {
      const decided = this.#decided.get(id);
      seen = decided === undefined ? this.#seenAt(id, receivedAtUs, copy) : { id, number: decided };
      this.#last = seen;
    }
    return seen.number;
  }

  /** A copy whose id cannot be found. @param json what arrived; read once */
  unmatched(json: (() => string) | undefined): void {
    if (this.#example === undefined && json !== undefined) this.#example = exampleOf(json());
  }

  /**
   * The broadcast's row is being finalized.
   * @param sentAtUs places one that no connection of this process has received among the others
   * @returns its number in the ledger
   */
  finalize(id: string, sentAtUs: number): number {
    const number = this.#take(id, FINALIZED);
    // It may have come here since the run asked for the ids: then it was too late.
    return number === NOT_COUNTED ? this.#firstReceipts.before(sentAtUs) + 0.5 : number;
  }

  /** Discards a broadcast that is not the run's. @returns its number in the ledger, 0 if it has none */
  discard(id: string): number {
    return this.#take(id, NOT_COUNTED);
  }

  #take(id: string, becomes: typeof FINALIZED | typeof NOT_COUNTED): number {
    const number = this.#seen.get(id)?.number ?? NOT_COUNTED;
    if (number !== NOT_COUNTED) this.#rows--;
    this.#seen.delete(id);
    this.#decided.set(id, becomes);
    if (this.#decided.size > MAX_IDS) this.#decided.delete(this.#decided.keys().next().value as string);
    if (this.#last?.id === id) this.#last = undefined;
    return number;
  }

  #seenAt(id: string, receivedAtUs: number, copy: Copy): Seen {
    const known = this.#seen.get(id);
    if (known) return known;
    const number = this.#nextNumber(receivedAtUs);
    const seen = { id, firstAtUs: receivedAtUs, sentAt: sentAtOf(copy), bytes: copy.bytes(), number };
    this.#remember(seen);
    if (this.#others.length < MAX_OTHERS && seen.bytes <= MAX_SEARCHED_BYTES) this.#others.push(...copy.otherIds());
    return seen;
  }

  #nextNumber(receivedAtUs: number): number {
    if (!this.#watching || this.#filled() >= 1) return NOT_COUNTED;
    this.#rows++;
    return this.#firstReceipts.add(receivedAtUs);
  }

  #filled(): number {
    const rowBytes = Math.max(this.#ledger.members.slots, MIN_SLOTS) * BYTES_PER_SLOT;
    return Math.min(1, Math.max((this.#rows * rowBytes) / this.#maxRowBytes, this.#seen.size / MAX_IDS));
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

function sentAtOf(copy: Copy): string | number | undefined {
  const value = copy.sentAt();
  if (typeof value === 'number') return value;
  return typeof value === 'string' && value.length <= MAX_SENT_AT_LENGTH ? value : undefined;
}

/** When each broadcast first came, in a row of limited length: places those among them that never came. */
export class FirstReceipts {
  readonly #kept: number;
  /** Times of the numbers after `#dropped`, in order. */
  #atUs: number[] = [];
  #dropped = 0;

  /** @param kept at least so many of the newest are known */
  constructor(kept: number) {
    this.#kept = kept;
  }

  /** @param atUs not before that of the previous one @returns the number of the broadcast, from 1 */
  add(atUs: number): number {
    this.#atUs.push(atUs);
    if (this.#atUs.length > this.#kept * 2) {
      this.#dropped += this.#kept;
      this.#atUs = this.#atUs.slice(this.#kept);
    }
    return this.#dropped + this.#atUs.length;
  }

  /** @returns the number of the last broadcast that came before then; 0 if there is none */
  before(atUs: number): number {
    let [low, high] = [0, this.#atUs.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#atUs[middle] as number) < atUs) low = middle + 1;
      else high = middle;
    }
    return this.#dropped + low;
  }
}
