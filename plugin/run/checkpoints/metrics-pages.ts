/** Checks that metrics pages answer, that the values on them change, and that each page reports a different process. */
import type { TargetReading } from '../../samplers/index.ts';
import type { RunContext } from '../context.ts';
import { recordAbsentSource } from '../measurements/absent-sources.ts';
import type { CheckMoment } from '../measurements/observations.ts';

type Figures = NonNullable<TargetReading['reading']>['figures'];

interface Watched {
  what: string;
  /**
   * Reads a value from a metrics page.
   * @returns undefined if the page does not have the value, or if the value may stay constant while connections open
   */
  of(figures: Figures, targets: number): number | string | undefined;
  /** Number of new connections per metrics page after which the value on the page must have changed. */
  connections: number;
}

/**
 * Values that show that a metrics page is outdated, because they stop changing. The numbers of connections allow for
 * CPU time in steps of 10 ms and for free memory in the heap. One of several workers may get no new connection, but
 * still uses some CPU time.
 */
const WATCHED: Watched[] = [
  {
    what: 'figures',
    of: (figures, targets) =>
      (targets === 1 && hasFigures(figures)) || figures.cpuSeconds !== undefined ? JSON.stringify(figures) : undefined,
    connections: 1,
  },
  { what: 'CPU time', of: ({ cpuSeconds }) => cpuSeconds, connections: 100 },
  { what: 'V8 heap', of: ({ heapUsedBytes }) => heapUsedBytes, connections: 400 },
];

/** Returns whether a page has figures. A page that only has counters of events says nothing about its process. */
function hasFigures(figures: Figures): boolean {
  return Object.keys(figures).length > 0;
}

export class UnchangedFigures {
  /** Last value of each figure on each metrics page, and the number of connections when the value last changed. */
  readonly #lastChanges = new Map<string, { value: number | string; connections: number }>();

  /**
   * Returns the first figure that has stopped changing, the metrics pages that show it, and the number of connections
   * when it stopped; undefined if all figures change.
   */
  check(targets: TargetReading[], connections: number) {
    const stopped = WATCHED.map((watched) => this.#checkFigure(watched, targets, connections));
    return stopped.find((found) => found !== undefined);
  }

  #checkFigure(watched: Watched, targets: TargetReading[], connections: number) {
    const still: { target: TargetReading; since: number }[] = [];
    for (const [index, target] of targets.entries()) {
      const value = target.reading && watched.of(target.reading.figures, targets.length);
      if (value === undefined) continue;
      const key = `${watched.what} ${index}`;
      const last = this.#lastChanges.get(key);
      if (last?.value !== value) this.#lastChanges.set(key, { value, connections });
      else if (Math.abs(connections - last.connections) >= watched.connections * targets.length) {
        still.push({ target, since: last.connections });
      }
    }
    const [first] = still;
    return first && { what: watched.what, targets: still.map(({ target }) => target), connections: first.since };
  }
}

/** Number of checks in which two metrics pages must show the same values to count as pages of one process. */
const MIN_CHECKS = 3;

type Reading = NonNullable<TargetReading['reading']>;

class SamePages {
  /** Number of checks in which a pair of pages showed the same values; NaN if the values ever differed. */
  readonly #agreements = new Map<string, number>();

  /**
   * Finds metrics pages that report the same process.
   * @param first a reading of all pages
   * @param second a later reading of all pages
   * @returns pairs of URLs
   */
  check(first: TargetReading[], second: TargetReading[]): [string, string][] {
    const found: [string, string][] = [];
    for (const [index, a] of first.entries()) {
      for (const [other, b] of first.entries()) {
        if (other <= index) continue;
        const readings = [a, b, second[index], second[other]].map((target) => target?.reading);
        if (readings.includes(undefined)) continue;
        const pair = `${index} ${other}`;
        const before = this.#agreements.get(pair) ?? 0;
        const agreements = Number.isFinite(before) && isOneProcess(readings as Reading[]) ? before + 1 : Number.NaN;
        this.#agreements.set(pair, agreements);
        if (agreements >= MIN_CHECKS) found.push([a.url, b.url]);
      }
    }
    return found;
  }
}

function isOneProcess([a1, b1, a2, b2]: Reading[]): boolean {
  if (!a1 || !b1 || !a2 || !b2 || a1.identity !== b1.identity) return false;
  const names = Object.keys(a1.figures) as (keyof Reading['figures'])[];
  if (names.length === 0 || names.length !== Object.keys(b1.figures).length) return false;
  return names.every((name) => {
    const of = ({ figures }: Reading) => figures[name] ?? Number.NaN;
    const [a, b, laterA, laterB] = [of(a1), of(b1), of(a2), of(b2)];
    // CPU time never falls. If both pages belong to one process, the earlier value cannot exceed the later value.
    if (/cpu/i.test(name)) return Math.max(a, b) <= Math.min(laterA, laterB);
    if (!/rss|workingSet/.test(name)) return true;
    return Math.max(Math.min(a, laterA), Math.min(b, laterB)) <= Math.min(Math.max(a, laterA), Math.max(b, laterB));
  });
}

export class MetricsPages {
  readonly #context: RunContext;
  readonly #samePages = new SamePages();
  readonly #still = new UnchangedFigures();

  constructor(context: RunContext) {
    this.#context = context;
  }

  async begin(): Promise<void> {
    this.#still.check(await this.#read({ at: 'begin' }), 0);
  }

  async check(when: CheckMoment): Promise<void> {
    // Connections are counted before the metrics pages are read, so that a page can only be newer than the count.
    const connectionsBefore = this.#context.population.connections();
    const stopped = this.#still.check(await this.#read(when), connectionsBefore);
    if (!stopped) return;
    const { what, targets, connections } = stopped;
    const { observations } = this.#context.measurements;
    observations.note('pagesRepeated', { when, what, urls: urlsOf(targets), connections });
  }

  /**
   * Reads all metrics pages. Reads the workers' pages twice if there are several, to compare their processes.
   * @returns the readings of the workers' pages
   */
  async #read(when: CheckMoment): Promise<TargetReading[]> {
    const { metrics, measurements } = this.#context;
    const { worker, ...otherLayers } = metrics;
    const otherTargets = await Promise.all(Object.values(otherLayers).map((pages) => pages.readEach()));
    const first = (await worker?.readEach()) ?? [];
    const targets = first.length > 1 && worker ? await worker.readEach() : first;
    this.#note([...targets, ...otherTargets.flat()], when);
    const pairs = this.#samePages.check(first, targets);
    if (pairs.length > 0) measurements.observations.note('pagesShared', { pairs });
    return targets;
  }

  #note(targets: TargetReading[], when: CheckMoment): void {
    const { measurements } = this.#context;
    for (const { url, absence } of targets) if (absence) recordAbsentSource(measurements, url, absence);
    const inTurn = targets.filter(({ alternates }) => alternates);
    if (inTurn.length > 0) measurements.observations.note('pagesAlternate', { when, urls: urlsOf(inTurn) });
  }
}

function urlsOf(targets: TargetReading[]): string[] {
  return targets.map(({ url }) => url);
}
