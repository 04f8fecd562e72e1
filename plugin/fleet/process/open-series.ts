/** Connections opened per time interval: the source of the achieved rate, exact to one interval. */
export class OpenSeries {
  readonly intervalUs = 10_000;
  readonly startedAtUs: number;
  readonly #counts: number[] = [];

  constructor(startedAtUs: number) {
    this.startedAtUs = startedAtUs;
  }

  record(atUs: number): void {
    const interval = Math.max(0, Math.floor((atUs - this.startedAtUs) / this.intervalUs));
    while (this.#counts.length <= interval) this.#counts.push(0);
    this.#counts[interval] = (this.#counts[interval] ?? 0) + 1;
  }

  snapshot(): { startedAtUs: number; intervalUs: number; counts: number[] } {
    return { startedAtUs: this.startedAtUs, intervalUs: this.intervalUs, counts: [...this.#counts] };
  }
}
