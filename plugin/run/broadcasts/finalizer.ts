/**
 * Finalizes the ledger rows of the server's own event: computes the sums of a broadcast and frees its row in the
 * ledger. For 10,000 connections, this takes a fleet process some milliseconds, so a short run does it at the end. In a
 * long run, the oldest broadcasts are finalized early once a quarter of the rows is in use: if they are complete, or if
 * no copy has arrived for the time of the drain's deadline.
 */
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import type { OwnEventSighting } from '../../../protocol/link/ledger-messages.ts';
import { ALL_RECEIVERS_ROOM, parseRoomKey, roomKeyOfOwnBroadcast } from '../../../protocol/wire/rooms.ts';
import type { OwnEventDelivery } from '../../script/settings.ts';
import type { RunContext } from '../context.ts';
import type { PublishedEvent } from '../receivers/publishers.ts';
import { LedgerRows } from './ledger-rows.ts';
import { LatencyBasis, mergeSightings, type OrderedBroadcast } from './orders.ts';

/** Share of the ledger's rows in use above which broadcasts are finalized early. */
const KEPT_SHARE = 0.25;

type FinalizerContext = Pick<RunContext, 'config' | 'link' | 'population' | 'publishers'>;

export class LedgerFinalizer {
  readonly rows = new LedgerRows();
  readonly basis: LatencyBasis;
  /** Number of this run's broadcasts with at least one copy. */
  seen = 0;
  /** Number of broadcasts that were not counted because the ledger was full. */
  skipped = 0;
  /** Example of a copy without an id, for error messages. */
  example: string | undefined;
  readonly #context: FinalizerContext;
  readonly #nowUs: () => number;
  readonly #beganAtUs: number;
  /** Time from which first copies do not count: a broadcast whose first copy arrives later is ignored. */
  #endedAtUs = Number.POSITIVE_INFINITY;
  /** Published broadcasts that are not finalized yet, by id. Empty if the server chooses the ids. */
  readonly #published = new Map<string, PublishedEvent>();
  /** Last sequence number that was given to a broadcast whose id the server chose. */
  #lastSeq = 0;
  /** Number of copies of each id, and the time of its last change. */
  #copies = new Map<string, { reached: number; sinceUs: number }>();
  #bytes = 0;
  /** Ids of broadcasts to remove from the ledgers with the next poll. */
  #ignoredIds: string[] = [];
  #otherIds: [path: string, id: string][] = [];
  readonly #rooms: ReadonlyMap<string, number>;

  /**
   * Must be created when the ledgers start to count.
   * @param rooms number of members of each room
   */
  constructor(
    context: FinalizerContext,
    { sentAt }: Pick<OwnEventDelivery, 'sentAt'>,
    rooms: ReadonlyMap<string, number>,
    nowUs = monotonicUs,
  ) {
    this.#context = context;
    this.#rooms = rooms;
    this.#nowUs = nowUs;
    this.#beganAtUs = nowUs();
    this.basis = new LatencyBasis(sentAt !== undefined, this.#givesIds ? 'publisher' : 'first receipt');
  }

  /** Mean length of a copy's payload as JSON, in characters. */
  get bytes(): number {
    return Math.round(this.#bytes / Math.max(1, this.seen - this.skipped));
  }

  /**
   * A path in the payload, other than the configured path of the id, at which copies have ids that may be the run's;
   * undefined if there is none.
   */
  get idsBeside(): string | undefined {
    const inList = (path: string) => path.indexOf('*') > '$.'.length;
    const prefix = this.#context.publishers?.prefix ?? '';
    return this.#otherIds.find(([path, id]) => (this.#givesIds ? id.startsWith(prefix) : inList(path)))?.[0];
  }

  addPublished(broadcast: PublishedEvent): void {
    if (this.#givesIds) this.#published.set(broadcast.countedAs, broadcast);
  }

  /** Excludes broadcasts whose first copy arrives after this time. The earliest of several times is used. */
  end(atUs: number): void {
    this.#endedAtUs = Math.min(this.#endedAtUs, atUs);
  }

  /**
   * Polls the fleet processes, and finalizes broadcasts early if the ledgers are filling up.
   * @returns number of broadcasts that are not finalized, number of copies expected from these broadcasts, and number
   * of first copies so far
   */
  async poll() {
    const { sightings, filled } = await this.#readSightings(true);
    const ofRun = sightings.filter((sighting) => this.#isOfRun(sighting));
    this.#noteCopies(ofRun);
    if (filled > KEPT_SHARE) await this.#finalizeEarly(sightings, filled);
    const reached = ofRun.reduce((sum, sighting) => sum + sighting.reached, 0);
    const ids = new Set([...ofRun.map(({ id }) => id), ...this.#published.keys()]);
    const expected = [...ids].reduce((sum, id) => sum + this.#membersOf(id), 0);
    return { broadcasts: ids.size, expected, reached };
  }

  async finish(): Promise<void> {
    const { sightings } = await this.#readSightings(false);
    const arrived = this.#takeArrived(sightings.filter((sighting) => this.#isOfRun(sighting)));
    const missing = [...this.#published.values()].map((broadcast) => broadcastOf(broadcast, undefined));
    await this.#finalize([...arrived, ...missing]);
  }

  get #givesIds(): boolean {
    return this.#context.publishers?.givesIds ?? false;
  }

  async #readSightings(watch: boolean): Promise<{ sightings: OwnEventSighting[]; filled: number }> {
    const reports = await this.#context.link.sight(watch, this.#ignoredIds.splice(0));
    this.#otherIds = reports.flatMap(({ others = [] }) => others);
    this.example ??= reports.find(({ example }) => example !== undefined)?.example;
    return { sightings: mergeSightings(reports), filled: Math.max(0, ...reports.map((report) => report.filled)) };
  }

  #isOfRun({ id, firstAtUs }: OwnEventSighting): boolean {
    if (this.#givesIds) return this.#published.has(id);
    return firstAtUs >= this.#beganAtUs && firstAtUs <= this.#endedAtUs;
  }

  /** Number of current members that should receive the broadcast; infinite if the number is unknown. */
  #membersOf(id: string): number {
    const place = roomKeyOfOwnBroadcast(id);
    const members = this.#rooms.get(place) ?? Number.POSITIVE_INFINITY;
    const connections = this.#context.population.connections();
    return parseRoomKey(place).room === ALL_RECEIVERS_ROOM || connections === 0
      ? Math.min(members, connections)
      : members;
  }

  #noteCopies(ofRun: OwnEventSighting[]): void {
    const nowUs = this.#nowUs();
    const before = this.#copies;
    this.#copies = new Map(
      ofRun.map(({ id, reached }) => {
        const known = before.get(id);
        return [id, known?.reached === reached ? known : { reached, sinceUs: nowUs }];
      }),
    );
  }

  /** Finalizes the oldest finished broadcasts until no more than `KEPT_SHARE` of the ledgers' rows are in use. */
  async #finalizeEarly(sightings: OwnEventSighting[], filled: number): Promise<void> {
    const excess = Math.ceil(sightings.length * (1 - KEPT_SHARE / filled));
    const finished = sightings.filter((sighting) => this.#isFinished(sighting)).slice(0, excess);
    this.#ignoredIds.push(...finished.filter((sighting) => !this.#isOfRun(sighting)).map(({ id }) => id));
    await this.#finalize(this.#takeArrived(finished.filter((sighting) => this.#isOfRun(sighting))));
  }

  #isFinished({ id, firstAtUs }: OwnEventSighting): boolean {
    const { config } = this.#context;
    const nowUs = this.#nowUs();
    const copies = this.#copies.get(id);
    const stillSinceUs = copies?.sinceUs ?? firstAtUs;
    if (nowUs - stillSinceUs >= config.drain.deadline * 1e6) return true;
    const isComplete = copies !== undefined && copies.reached >= this.#membersOf(id);
    return isComplete && nowUs - copies.sinceUs >= config.drain.quiet * 1e6;
  }

  /**
   * Counts broadcasts as arrived. Broadcasts that a process could not add to its full ledger are skipped.
   * @returns the broadcasts that every process counted
   */
  #takeArrived(ofRun: OwnEventSighting[]): OrderedBroadcast[] {
    const broadcasts: OrderedBroadcast[] = [];
    for (const sighting of ofRun) {
      this.seen++;
      const published = this.#published.get(sighting.id);
      this.#published.delete(sighting.id);
      if (sighting.counted) {
        this.#bytes += sighting.bytes;
        broadcasts.push(published ? broadcastOf(published, sighting) : this.#numbered(sighting));
      } else {
        this.skipped++;
        this.#ignoredIds.push(sighting.id);
      }
    }
    return broadcasts;
  }

  /**
   * Gives a sequence number to a broadcast that the server sent by itself. All members at the time of its first copy
   * should receive it.
   */
  #numbered(sighting: OwnEventSighting): OrderedBroadcast {
    const { id, firstAtUs } = sighting;
    return { seq: ++this.#lastSeq, id, membersAtUs: firstAtUs, intendedAtUs: firstAtUs, sighting };
  }

  async #finalize(broadcasts: OrderedBroadcast[]): Promise<void> {
    if (broadcasts.length === 0) return;
    const { link } = this.#context;
    const orders = this.basis.orders(broadcasts);
    this.rows.add(orders, await link.freeze(orders));
  }
}

/** Returns the row for a broadcast of the run's publishers. All members at the time of the emit should receive it. */
function broadcastOf(
  { seq, countedAs: id, emittedAtUs, intendedAtUs, sentAt }: PublishedEvent,
  sighting: OwnEventSighting | undefined,
): OrderedBroadcast {
  return { seq, id, membersAtUs: emittedAtUs, intendedAtUs, sighting, publishedSentAt: sentAt };
}
