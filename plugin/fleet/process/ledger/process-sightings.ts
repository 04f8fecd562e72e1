/**
 * Records the ids that this process has received in the event of the user's server. Each id gets a number, under which
 * the ledger counts its copies. Later the run decides, from the ids of all processes, which ids count. After the
 * decision, only the id is kept, without a number.
 */
import type { OwnEventSighting, OwnEventSightings as Report } from '../../../../protocol/link/ledger-messages.ts';
import type { EventCopy } from '../../client/client.ts';
import { eventExample } from '../../client/counted-event.ts';
import type { Ledger } from './ledger.ts';

/** Marks an id whose broadcast is final. Further copies of the broadcast are late. */
export const FINALIZED_ID = -1;
/** Marks an id whose broadcast is not counted. */
const NOT_COUNTED = 0;
/**
 * Number of ids from before the measurement that are remembered, because their last copies may arrive during the
 * measurement.
 */
const KEPT_BEFORE = 1000;
/** Largest number of ids that are remembered. For an id beyond the limit, every copy counts as the first copy. */
const MAX_IDS = 100_000;
/**
 * Limit in bytes for the memory of the rows of all broadcasts that are not final. A row has a number for each
 * connection.
 */
const ROW_BYTES = 64 * 1024 ** 2;
const BYTES_PER_SLOT = 4;
const MIN_SLOTS = 1000;
const MAX_SENT_AT_LENGTH = 100;
/** Largest number of reported ids from paths other than the configured path. */
const MAX_OTHERS = 20;
/** Largest copy in bytes that is searched for other ids. */
const MAX_SEARCHED_BYTES = 64 * 1024;
/** Largest number of rooms in a report of this process to the engine. */
const MAX_ROOMS = 1000;

type Rows = Pick<Ledger, 'members' | 'reachedBy'>;

interface Seen extends Pick<OwnEventSighting, 'id' | 'firstAtUs' | 'sentAt' | 'bytes'> {
  number: number;
}

export class ProcessSightings {
  readonly #seen = new Map<string, Seen>();
  /** Ids of broadcasts that the run has finalized or discarded, oldest first, each with the mark for further copies. */
  readonly #decided = new Map<string, typeof FINALIZED_ID | typeof NOT_COUNTED>();
  readonly #ledger: Rows;
  readonly #maxRowBytes: number;
  readonly #firstReceipts = new FirstReceipts(MAX_IDS);
  #watching = false;
  /** Whether the next report includes the rooms and their members. */
  #namesRooms = false;
  readonly #others: [path: string, id: string][] = [];
  #rows = 0;
  #example: string | undefined;
  /**
   * Id and number of the previously received copy. They are cached, because each broadcast reaches many connections one
   * after the other.
   */
  #last: Pick<Seen, 'id' | 'number'> | undefined;

  constructor(ledger: Rows, maxRowBytes = ROW_BYTES) {
    this.#ledger = ledger;
    this.#maxRowBytes = maxRowBytes;
  }

  /** Starts or stops counting broadcasts with new ids. */
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

  /** Returns the broadcast's number in the ledger; 0 if the broadcast is not counted, `FINALIZED_ID` if it is final. */
  numberOf(id: string, receivedAtUs: number, copy: EventCopy): number {
    let seen = this.#last;
    if (seen?.id !== id) {
      const decided = this.#decided.get(id);
      seen = decided === undefined ? this.#seenAt(id, receivedAtUs, copy) : { id, number: decided };
      this.#last = seen;
    }
    return seen.number;
  }

  /**
   * Keeps one example of a copy without an id.
   * @param json returns the received JSON
   */
  unmatched(json: (() => string) | undefined): void {
    if (this.#example === undefined && json !== undefined) this.#example = eventExample(json());
  }

  /**
   * Marks a broadcast's id as final.
   * @param sentAtUs send time, which determines the order if this process has not received the broadcast
   * @returns the broadcast's number in the ledger
   */
  finalize(id: string, sentAtUs: number): number {
    const number = this.#take(id, FINALIZED_ID);
    // This process received no copy before the run asked for ids, so the number is chosen by the send time.
    return number === NOT_COUNTED ? this.#firstReceipts.before(sentAtUs) + 0.5 : number;
  }

  /**
   * Discards an id that is not part of the run.
   * @returns the broadcast's number in the ledger; 0 if it has none
   */
  discard(id: string): number {
    return this.#take(id, NOT_COUNTED);
  }

  #take(id: string, becomes: typeof FINALIZED_ID | typeof NOT_COUNTED): number {
    const number = this.#seen.get(id)?.number ?? NOT_COUNTED;
    if (number !== NOT_COUNTED) this.#rows--;
    this.#seen.delete(id);
    this.#decided.set(id, becomes);
    if (this.#decided.size > MAX_IDS) this.#decided.delete(this.#decided.keys().next().value as string);
    if (this.#last?.id === id) this.#last = undefined;
    return number;
  }

  #seenAt(id: string, receivedAtUs: number, copy: EventCopy): Seen {
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

function sentAtOf(copy: EventCopy): string | number | undefined {
  const value = copy.sentAt();
  if (typeof value === 'number') return value;
  return typeof value === 'string' && value.length <= MAX_SENT_AT_LENGTH ? value : undefined;
}

/** First receive times of the newest broadcasts. They determine the order of a broadcast that was never received. */
export class FirstReceipts {
  readonly #kept: number;
  /** Receive times of the broadcasts in order, without the first `#dropped` broadcasts. */
  #atUs: number[] = [];
  #dropped = 0;

  /**
   * Creates an empty list of receive times.
   * @param kept number of newest broadcasts that are always kept
   */
  constructor(kept: number) {
    this.#kept = kept;
  }

  /**
   * Adds the first receive time of a broadcast.
   * @param atUs receive time, not before that of the previous broadcast
   * @returns the broadcast's number, from 1
   */
  add(atUs: number): number {
    this.#atUs.push(atUs);
    if (this.#atUs.length > this.#kept * 2) {
      this.#dropped += this.#kept;
      this.#atUs = this.#atUs.slice(this.#kept);
    }
    return this.#dropped + this.#atUs.length;
  }

  /** Returns the number of the last broadcast received before this time; 0 if there is none. */
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
