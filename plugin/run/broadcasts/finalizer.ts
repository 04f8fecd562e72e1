/**
 * Finalizes broadcasts of an own event. In a short run that is done at the end, as finalizing a row of 10,000 connections
 * takes its process some milliseconds. When a quarter of the room for rows is taken, the oldest broadcasts that are
 * complete, or that have got no copy for the deadline of the drain, are finalized at once, so that a run of hours has room for all.
 */
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import type { Sighting } from '../../../protocol/link/sightings.ts';
import { placeOfCounted, readPlace } from '../../../protocol/wire/counted-as.ts';
import { AUDIENCE } from '../../../protocol/wire/rooms.ts';
import type { Delivery } from '../../script/settings.ts';
import type { RunContext } from '../context.ts';
import type { Published } from '../receivers/publishers.ts';
import { allSeen, type Broadcast, LatencyBasis } from './orders.ts';
import { Rows } from './rows.ts';

/** Share of the room for rows that broadcasts take which could be finalized. */
const KEPT_SHARE = 0.25;

type Needs = Pick<RunContext, 'config' | 'link' | 'population' | 'publishers'>;

export class Finalizer {
  readonly rows = new Rows();
  readonly basis: LatencyBasis;
  /** Broadcasts of the run that arrived. */
  seen = 0;
  /** Those without a row, among `seen`. */
  skipped = 0;
  /** A copy without an id. */
  example: string | undefined;
  readonly #context: Needs;
  readonly #nowUs: () => number;
  readonly #beganAtUs: number;
  /** The ids of those that appear later are none of the run's. */
  #endedAtUs = Number.POSITIVE_INFINITY;
  /** By their ids, if these are the run's own. */
  readonly #published = new Map<string, Published>();
  /** For broadcasts with ids of the server. */
  #lastNumber = 0;
  /** How many copies the run has seen, and since when. */
  #copies = new Map<string, { reached: number; sinceUs: number }>();
  #bytes = 0;
  #outside: string[] = [];
  #others: [path: string, id: string][] = [];
  readonly #rooms: ReadonlyMap<string, number>;

  /** To be made when the ledgers begin to count. @param rooms members of those that are known */
  constructor(
    context: Needs,
    { sentAt }: Pick<Delivery, 'sentAt'>,
    rooms: ReadonlyMap<string, number>,
    nowUs = monotonicUs,
  ) {
    this.#context = context;
    this.#rooms = rooms;
    this.#nowUs = nowUs;
    this.#beganAtUs = nowUs();
    this.basis = new LatencyBasis(sentAt !== undefined, this.#givesIds ? 'publisher' : 'first receipt');
  }

  /** Mean length of a copy's JSON. */
  get bytes(): number {
    return Math.round(this.#bytes / Math.max(1, this.seen - this.skipped));
  }

  /** Where copies have other ids, of which one may be the run's; undefined where they have none. */
  get idsBeside(): string | undefined {
    const inList = (path: string) => path.indexOf('*') > '$.'.length;
    const prefix = this.#context.publishers?.prefix ?? '';
    return this.#others.find(([path, id]) => (this.#givesIds ? id.startsWith(prefix) : inList(path)))?.[0];
  }

  published(one: Published): void {
    if (this.#givesIds) this.#published.set(one.countedAs, one);
  }

  /** Broadcasts that begin later are none of the run's. The first call counts. */
  end(atUs: number): void {
    this.#endedAtUs = Math.min(this.#endedAtUs, atUs);
  }

  /**
   * Asks what has arrived, and makes room if there is little.
   * @returns broadcasts that are not finalized, their copies if nothing is lost, and their first copies so far
   */
  async look() {
    const { seen, filled } = await this.#ask(true);
    const ofRun = seen.filter((one) => this.#isOfRun(one));
    this.#noteCopies(ofRun);
    if (filled > KEPT_SHARE) await this.#makeRoom(seen, filled);
    const reached = ofRun.reduce((sum, one) => sum + one.reached, 0);
    const ids = new Set([...ofRun.map(({ id }) => id), ...this.#published.keys()]);
    const expected = [...ids].reduce((sum, id) => sum + this.#membersOf(id), 0);
    return { broadcasts: ids.size, expected, reached };
  }

  /** All that are left. */
  async finish(): Promise<void> {
    const { seen } = await this.#ask(false);
    const counted = this.#countedOf(seen.filter((one) => this.#isOfRun(one)));
    const unseen = [...this.#published.values()].map((one) => broadcastOf(one, undefined));
    await this.#finalize([...counted, ...unseen]);
  }

  get #givesIds(): boolean {
    return this.#context.publishers?.givesIds ?? false;
  }

  async #ask(watch: boolean): Promise<{ seen: Sighting[]; filled: number }> {
    const sightings = await this.#context.link.sight(watch, this.#outside.splice(0));
    this.#others = sightings.flatMap(({ others = [] }) => others);
    this.example ??= sightings.find(({ example }) => example !== undefined)?.example;
    return { seen: allSeen(sightings), filled: Math.max(0, ...sightings.map((one) => one.filled)) };
  }

  #isOfRun({ id, firstAtUs }: Sighting): boolean {
    if (this.#givesIds) return this.#published.has(id);
    return firstAtUs >= this.#beganAtUs && firstAtUs <= this.#endedAtUs;
  }

  /** Now, as far as it is known. */
  #membersOf(id: string): number {
    const place = placeOfCounted(id);
    const members = this.#rooms.get(place) ?? Number.POSITIVE_INFINITY;
    return readPlace(place).room === AUDIENCE ? Math.min(members, this.#context.population.connections()) : members;
  }

  #noteCopies(ofRun: Sighting[]): void {
    const nowUs = this.#nowUs();
    const before = this.#copies;
    this.#copies = new Map(
      ofRun.map(({ id, reached }) => {
        const known = before.get(id);
        return [id, known?.reached === reached ? known : { reached, sinceUs: nowUs }];
      }),
    );
  }

  /** Finalizes the oldest that need no more time, as many as take up too much room. */
  async #makeRoom(seen: Sighting[], filled: number): Promise<void> {
    const tooMany = Math.ceil(seen.length * (1 - KEPT_SHARE / filled));
    const ripe = seen.filter((one) => this.#isRipe(one)).slice(0, tooMany);
    this.#outside.push(...ripe.filter((one) => !this.#isOfRun(one)).map(({ id }) => id));
    await this.#finalize(this.#countedOf(ripe.filter((one) => this.#isOfRun(one))));
  }

  #isRipe({ id, firstAtUs }: Sighting): boolean {
    const { config } = this.#context;
    const nowUs = this.#nowUs();
    const copies = this.#copies.get(id);
    const stillSinceUs = copies?.sinceUs ?? firstAtUs;
    if (nowUs - stillSinceUs >= config.drain.deadline * 1e6) return true;
    const isComplete = copies !== undefined && copies.reached >= this.#membersOf(id);
    return isComplete && nowUs - copies.sinceUs >= config.drain.quiet * 1e6;
  }

  /** Those that have a row in every process that has seen them; the others are outside. */
  #countedOf(ofRun: Sighting[]): Broadcast[] {
    const broadcasts: Broadcast[] = [];
    for (const one of ofRun) {
      this.seen++;
      const published = this.#published.get(one.id);
      this.#published.delete(one.id);
      if (one.counted) {
        this.#bytes += one.bytes;
        broadcasts.push(published ? broadcastOf(published, one) : this.#numbered(one));
      } else {
        this.skipped++;
        this.#outside.push(one.id);
      }
    }
    return broadcasts;
  }

  /** Who is a member at the first receipt anywhere is to receive it. */
  #numbered(one: Sighting): Broadcast {
    return { seq: ++this.#lastNumber, id: one.id, cutUs: one.firstAtUs, intendedAtUs: one.firstAtUs, seen: one };
  }

  async #finalize(broadcasts: Broadcast[]): Promise<void> {
    if (broadcasts.length === 0) return;
    const { link } = this.#context;
    const orders = this.basis.orders(broadcasts);
    this.rows.add(orders, await link.freeze(orders));
  }
}

/** Who is a member at the emit is to receive it. */
function broadcastOf(
  { seq, countedAs: id, emittedAtUs, intendedAtUs, sentAt }: Published,
  seen: Sighting | undefined,
): Broadcast {
  return { seq, id, cutUs: emittedAtUs, intendedAtUs, seen, own: sentAt };
}
