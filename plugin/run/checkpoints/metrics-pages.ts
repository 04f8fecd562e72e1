/** The pages of metrics answer, live, each page of a process of its own. */
import type { TargetReading } from '../../samplers/index.ts';
import { SamePages } from './same-pages.ts';
import { StillFigures } from './still-figures.ts';
import { Check } from './warnings.ts';

export class MetricsPages extends Check {
  readonly #samePages = new SamePages();
  readonly #still = new StillFigures();

  async begin(): Promise<void> {
    this.#still.look(await this.#read('before the load'), 0);
  }

  async check(when: string): Promise<void> {
    // Connections that come while the pages are read are not on them.
    const connectionsBefore = this.context.population.connections();
    const stopped = this.#still.look(await this.#read(when), connectionsBefore);
    if (!stopped) return;
    const { what, targets, connections } = stopped;
    const message = `${when}, ${urlsOf(targets)} had the same ${what} as at ${connections}`;
    const fix = 'read the metrics of the server itself: a cache or a gateway in between repeats old ones';
    this.warnings.warn('WORKER_URLS_WRONG', message, fix);
  }

  /** @returns the workers' pages. Twice where there are several, to see whether they are all of different processes */
  async #read(when: string): Promise<TargetReading[]> {
    const { worker, ...others } = this.context.metrics;
    const ofOthers = await Promise.all(Object.values(others).map((pages) => pages.readEach()));
    const first = (await worker?.readEach()) ?? [];
    const targets = first.length > 1 && worker ? await worker.readEach() : first;
    this.#checkAnswers([...targets, ...ofOthers.flat()], when);
    const pairs = this.#samePages.look(first, targets);
    if (pairs.length > 0) {
      const urls = pairs.map((pair) => pair.join(' and ')).join('; ');
      const message = `two pages of metrics were of the same process at each standstill: ${urls}`;
      const fix = 'name the page of each process once in `workers.prometheus`';
      this.warnings.warn('WORKER_URLS_WRONG', message, fix);
    }
    return targets;
  }

  #checkAnswers(targets: TargetReading[], when: string): void {
    const failures = targets.flatMap(({ failure }) => failure ?? []);
    if (failures.length > 0) {
      const fix = 'see the log of the server behind them; it must answer during the whole run';
      this.warnings.warn('READINGS_MISSING', `${when}, ${failures.join('; ')}`, fix);
    }
    const inTurn = targets.filter(({ alternates }) => alternates);
    if (inTurn.length > 0) {
      const message = `${when}, several processes had answered in turn at ${urlsOf(inTurn)}`;
      const fix = 'give each process a port of its own for its metrics, and list them all in `prometheus`';
      this.warnings.warn('WORKER_URLS_WRONG', message, fix);
    }
  }
}

function urlsOf(targets: TargetReading[]): string {
  return targets.map(({ url }) => url).join(' and ');
}
