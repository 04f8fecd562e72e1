/** Connections opened per interval of time: the source of the achieved rate, exact to one interval. */
export class Openings {
  readonly intervalUs = 10_000;
  readonly startUs: number;
  readonly #counts: number[] = [];

  constructor(startUs: number) {
    this.startUs = startUs;
  }

  record(atUs: number): void {
    const interval = Math.max(0, Math.floor((atUs - this.startUs) / this.intervalUs));
    while (this.#counts.length <= interval) this.#counts.push(0);
    this.#counts[interval] = (this.#counts[interval] ?? 0) + 1;
  }

  snapshot(): { startUs: number; intervalUs: number; counts: number[] } {
    return { startUs: this.startUs, intervalUs: this.intervalUs, counts: [...this.#counts] };
  }
}
