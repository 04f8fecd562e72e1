/** A series of unlimited length in a limited number of rows, which stand for ever more of the added ones as it grows. */
export class BoundedSeries<Row> {
  readonly #limit: number;
  readonly #merge: (older: Row, newer: Row) => Row;
  #rows: Row[] = [];
  /** That each row stands for: a power of two. */
  #each = 1;
  /** The newest, which stand for fewer: each for half as many as the one before, or fewer still. */
  readonly #open: { row: Row; added: number }[] = [];
  #added = 0;

  /**
   * @param limit of rows, an even number
   * @param merge of two neighbours that stand for equally many
   */
  constructor(limit: number, merge: (older: Row, newer: Row) => Row) {
    this.#limit = limit;
    this.#merge = merge;
  }

  get added(): number {
    return this.#added;
  }

  /** The oldest first; the last ones may stand for fewer than the others. */
  get rows(): Row[] {
    return [...this.#rows, ...this.#open.map(({ row }) => row)];
  }

  add(row: Row): void {
    this.#added++;
    let newest = { row, added: 1 };
    for (let older = this.#open.at(-1); older?.added === newest.added; older = this.#open.at(-1)) {
      this.#open.pop();
      newest = { row: this.#merge(older.row, newest.row), added: 2 * older.added };
    }
    if (newest.added < this.#each) {
      this.#open.push(newest);
      return;
    }
    this.#rows.push(newest.row);
    if (this.#rows.length < this.#limit) return;
    this.#each *= 2;
    this.#rows = Array.from({ length: this.#limit / 2 }, (_, pair) =>
      this.#merge(this.#rows[2 * pair] as Row, this.#rows[2 * pair + 1] as Row),
    );
  }
}
