/** The pages of metrics answer, live, each page of a process of its own. */
import type { TargetReading } from '../../samplers/index.ts';
import type { RunContext } from '../context.ts';
import { noteAbsent } from '../measurements/absent-sources.ts';
import type { Moment } from '../measurements/observations.ts';
import { SamePages } from './same-pages.ts';
import { StillFigures } from './still-figures.ts';

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
