/** A series of unlimited length in a limited number of rows, which stand for ever more of the added ones as it grows. */
export class BoundedSeries<Row> {
  readonly #limit: number;
  readonly #merge: (older: Row, newer: Row) => Row;
  #rows: Row[] = [];
  /** That each row stands for. */
  #each = 1;
  #open: Row | undefined;
  #inOpen = 0;

  /**
   * @param limit of rows, an even number
   * @param merge of two neighbours
   */
  constructor(limit: number, merge: (older: Row, newer: Row) => Row) {
    this.#limit = limit;
    this.#merge = merge;
  }

  add(row: Row): void {
    this.#open = this.#open === undefined ? row : this.#merge(this.#open, row);
    if (++this.#inOpen < this.#each) return;
    this.#rows.push(this.#open);
    this.#open = undefined;
    this.#inOpen = 0;
    if (this.#rows.length < this.#limit) return;
    this.#each *= 2;
    this.#rows = Array.from({ length: this.#limit / 2 }, (_, pair) =>
      this.#merge(this.#rows[2 * pair] as Row, this.#rows[2 * pair + 1] as Row),
    );
  }

  /** The oldest first; the last one may stand for fewer than the others. */
  get rows(): Row[] {
    return this.#open === undefined ? [...this.#rows] : [...this.#rows, this.#open];
  }
}
