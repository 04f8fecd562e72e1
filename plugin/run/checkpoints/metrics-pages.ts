/** The pages of metrics answer, live, each page of a process of its own. */
import type { TargetReading } from '../../samplers/index.ts';
import type { RunContext } from '../context.ts';
import { noteAbsent } from '../measurements/absent-sources.ts';
import type { Moment } from '../measurements/observations.ts';

type Figures = NonNullable<TargetReading['reading']>['figures'];

interface Watched {
  what: string;
  /** Undefined where it says nothing of connections. */
  of(figures: Figures, targets: number): number | string | undefined;
  /** After this many connections, the counters of each page must have changed. */
  connections: number;
}

/**
 * Connections take more than the 10 ms in which some count CPU time, and than the free memory of a heap. All figures of a cache
 * are the same to the last digit; one of several workers can be without new connections, but not without CPU time.
 */
const WATCHED: Watched[] = [
  {
    what: 'figures',
    of: (figures, targets) => (targets === 1 || figures.cpuSeconds !== undefined ? JSON.stringify(figures) : undefined),
    connections: 1,
  },
  { what: 'CPU time', of: ({ cpuSeconds }) => cpuSeconds, connections: 100 },
  { what: 'V8 heap', of: ({ heapUsedBytes }) => heapUsedBytes, connections: 400 },
];

export class StillFigures {
  /** By figure and a target's place in the options: the value, and the connections when it last moved. */
  readonly #moved = new Map<string, { value: number | string; connections: number }>();

  /** @returns the first figure that stands still, where, and since how many connections; undefined if there is none */
  look(targets: TargetReading[], connections: number) {
    const all = WATCHED.map((watched) => this.#lookAt(watched, targets, connections));
    return all.find((one) => one !== undefined);
  }

  #lookAt(watched: Watched, targets: TargetReading[], connections: number) {
    const still: { target: TargetReading; since: number }[] = [];
    for (const [index, target] of targets.entries()) {
      const value = target.reading && watched.of(target.reading.figures, targets.length);
      if (value === undefined) continue;
      const key = `${watched.what} ${index}`;
      const moved = this.#moved.get(key);
      if (moved?.value !== value) this.#moved.set(key, { value, connections });
      else if (Math.abs(connections - moved.connections) >= watched.connections * targets.length) {
        still.push({ target, since: moved.connections });
      }
    }
    const [first] = still;
    return first && { what: watched.what, targets: still.map(({ target }) => target), connections: first.since };
  }
}

/** Standstills at which two pages agree by chance: the fewer, the more exactly they do. */
const MIN_LOOKS = 3;

type Reading = NonNullable<TargetReading['reading']>;

class SamePages {
  /** Pair → standstills so far; a pair that has differed once is left out. */
  readonly #looks = new Map<string, number>();

  /**
   * @param first all pages
   * @param second all pages again, after every one of the first readings had ended
   * @returns URLs of pairs that cannot be told apart, as soon as that is no chance
   */
  look(first: TargetReading[], second: TargetReading[]): [string, string][] {
    const found: [string, string][] = [];
    for (const [index, a] of first.entries()) {
      for (const [other, b] of first.entries()) {
        if (other <= index) continue;
        const readings = [a, b, second[index], second[other]].map((target) => target?.reading);
        // A page that does not answer tells nothing.
        if (readings.includes(undefined)) continue;
        const pair = `${index} ${other}`;
        const before = this.#looks.get(pair) ?? 0;
        const looks = Number.isFinite(before) && isOneProcess(readings as Reading[]) ? before + 1 : Number.NaN;
        this.#looks.set(pair, looks);
        if (looks >= MIN_LOOKS) found.push([a.url, b.url]);
      }
    }
    return found;
  }
}

function isOneProcess([a1, b1, a2, b2]: Reading[]): boolean {
  if (!a1 || !b1 || !a2 || !b2 || a1.identity !== b1.identity) return false;
  const names = Object.keys(a1.figures) as (keyof Reading['figures'])[];
  if (names.length !== Object.keys(b1.figures).length) return false;
  return names.every((name) => {
    const of = ({ figures }: Reading) => figures[name] ?? Number.NaN;
    const [a, b, laterA, laterB] = [of(a1), of(b1), of(a2), of(b2)];
    // What only rises was never more at the first look than at the second one, by either name.
    if (/cpu/i.test(name)) return Math.max(a, b) <= Math.min(laterA, laterB);
    if (!/rss|workingSet/.test(name)) return true;
    return Math.max(Math.min(a, laterA), Math.min(b, laterB)) <= Math.min(Math.max(a, laterA), Math.max(b, laterB));
  });
}

export class MetricsPages {
  readonly #context: RunContext;
  readonly #samePages = new SamePages();
  readonly #still = new StillFigures();

  constructor(context: RunContext) {
    this.#context = context;
  }

  async begin(): Promise<void> {
    this.#still.look(await this.#read({ at: 'begin' }), 0);
  }

  async check(when: Moment): Promise<void> {
    // Connections that come while the pages are read are not on them.
    const connectionsBefore = this.#context.population.connections();
    const stopped = this.#still.look(await this.#read(when), connectionsBefore);
    if (!stopped) return;
    const { what, targets, connections } = stopped;
    const { observations } = this.#context.measurements;
    observations.note('pagesRepeated', { when, what, urls: urlsOf(targets), connections });
  }

  /** @returns the workers' pages. Twice where there are several, to see whether they are all of different processes */
  async #read(when: Moment): Promise<TargetReading[]> {
    const { metrics, measurements } = this.#context;
    const { worker, ...others } = metrics;
    const ofOthers = await Promise.all(Object.values(others).map((pages) => pages.readEach()));
    const first = (await worker?.readEach()) ?? [];
    const targets = first.length > 1 && worker ? await worker.readEach() : first;
    this.#note([...targets, ...ofOthers.flat()], when);
    const pairs = this.#samePages.look(first, targets);
    if (pairs.length > 0) measurements.observations.note('pagesShared', { pairs });
    return targets;
  }

  #note(targets: TargetReading[], when: Moment): void {
    const { measurements } = this.#context;
    for (const { url, absence } of targets) if (absence) noteAbsent(measurements, url, absence);
    const inTurn = targets.filter(({ alternates }) => alternates);
    if (inTurn.length > 0) measurements.observations.note('pagesAlternate', { when, urls: urlsOf(inTurn) });
  }
}

function urlsOf(targets: TargetReading[]): string[] {
  return targets.map(({ url }) => url);
}
