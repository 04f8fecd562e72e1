/**
 * Reads all metrics pages of one layer. The pages can describe several processes or hosts, and can come from different
 * exporters.
 */

import type { WorkerMachine } from '../../../protocol/wire/events.ts';
import { describeAbsence, type SourceAbsence, SourceAbsentError } from '../absence.ts';
import type { PageReading, PagesReading } from './page.ts';
import { sumPageFigures } from './page-figures.ts';
import { type PageQuery, PageReader } from './prometheus.ts';

export interface TargetReading<Reading = PagesReading> {
  url: string;
  reading: Reading | undefined;
  absence: SourceAbsence | undefined;
  /** Whether different processes answer at the target's URL. */
  alternates: boolean;
}

export class PageTargets {
  readonly #targets: PageReader[];

  private constructor(targets: PageReader[]) {
    this.#targets = targets;
  }

  /**
   * Opens all metrics pages.
   * @throws CapacityError SOURCE_UNREACHABLE or METRICS_MISSING for a page without figures
   */
  static async open(queries: PageQuery[]): Promise<PageTargets> {
    return new PageTargets(await Promise.all(queries.map((query) => PageReader.open(query))));
  }

  get failures(): number {
    return this.#targets.reduce((sum, { failures }) => sum + failures, 0);
  }

  /**
   * Whether different processes answer at one of the URLs, so that the figures of that page do not belong to one
   * process.
   */
  get alternates(): boolean {
    return this.#targets.some((target) => target.alternates);
  }

  /** Returns the readings of all pages, in the order in which the settings list the pages. Never rejects. */
  readEach(): Promise<TargetReading<PageReading>[]> {
    return Promise.all(
      this.#targets.map(async (target) => {
        const { reading, absence } = await target.read().then(
          (reading) => ({ reading, absence: undefined }),
          () => ({ reading: undefined, absence: target.absence }),
        );
        return { url: target.url, reading, absence, alternates: target.alternates };
      }),
    );
  }

  /** Returns each machine that node_exporter pages report, once. Never rejects. */
  async machines(): Promise<WorkerMachine[]> {
    const machines = (await this.readEach()).flatMap(({ reading }) => reading?.machine ?? []);
    return [...new Map(machines.map((machine) => [machine.hostname, machine])).values()];
  }

  /**
   * Sums the figures of all pages.
   * @throws Error with the reason if a page has no figures, because a sum over the other pages would be too low
   */
  async read(): Promise<PagesReading> {
    const targets = await this.readEach();
    const absent = targets.flatMap(({ url, absence }) => (absence ? { url, absence } : []));
    const [first] = absent;
    if (first) {
      const texts = absent.map((target) => describeAbsence(target.url, target.absence));
      throw new SourceAbsentError(first.absence.reason, texts.join('; '), first.absence);
    }
    const readings = targets.flatMap(({ reading }) => reading ?? []);
    return {
      figures: sumPageFigures(readings.map(({ values }) => values)),
      identity: JSON.stringify(readings.map(({ identity }) => identity)),
    };
  }
}
