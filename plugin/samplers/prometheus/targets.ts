/** The metrics of a server whose workers, or hosts, each have a page of their own. */
import { type PrometheusFigure, type PrometheusQuery, PrometheusReader, type PrometheusReading } from './prometheus.ts';

export interface TargetReading {
  url: string;
  /** Undefined where there are no figures, for the reason in `failure`. */
  reading: PrometheusReading | undefined;
  failure: string | undefined;
  /** Several processes answer there in turn. */
  alternates: boolean;
}

export class PrometheusTargets {
  readonly #targets: PrometheusReader[];

  private constructor(targets: PrometheusReader[]) {
    this.#targets = targets;
  }

  /** @throws CapacityError METRICS_UNREACHABLE or METRICS_MISSING, of the first target without figures */
  static async open(queries: PrometheusQuery[]): Promise<PrometheusTargets> {
    return new PrometheusTargets(await Promise.all(queries.map((query) => PrometheusReader.open(query))));
  }

  /** Readings that failed, of all targets. */
  get failures(): number {
    return this.#targets.reduce((sum, { failures }) => sum + failures, 0);
  }

  /** Several processes answer in turn at one of the targets, so that nobody knows whose figures come next. */
  get alternates(): boolean {
    return this.#targets.some((target) => target.alternates);
  }

  /** @returns the targets in the order of the options, each with its own figures; never rejects */
  readEach(): Promise<TargetReading[]> {
    return Promise.all(
      this.#targets.map((target) =>
        target.read().then(
          (reading) => ({ url: target.url, reading, failure: undefined, alternates: target.alternates }),
          ({ message }: Error) => ({
            url: target.url,
            reading: undefined,
            failure: message,
            alternates: target.alternates,
          }),
        ),
      ),
    );
  }

  /**
   * The sum of all targets: of a figure that one of them lacks, there is none.
   * @throws Error with the reason if one of them has no figures: a sum of the others would be too low
   */
  async read(): Promise<PrometheusReading> {
    const targets = await this.readEach();
    const failures = targets.flatMap(({ failure }) => failure ?? []);
    if (failures.length > 0) throw new Error(failures.join('; '));
    const readings = targets.flatMap(({ reading }) => reading ?? []);
    const names = Object.keys(readings[0]?.figures ?? {}) as PrometheusFigure[];
    const inAll = names.filter((name) => readings.every(({ figures }) => figures[name] !== undefined));
    const sumOf = (name: PrometheusFigure) => readings.reduce((sum, { figures }) => sum + (figures[name] ?? 0), 0);
    return {
      figures: Object.fromEntries(inAll.map((name) => [name, sumOf(name)])),
      identity: JSON.stringify(readings.map(({ identity }) => identity)),
    };
  }
}
