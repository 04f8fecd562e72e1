/** Series of unlimited length in a limited number of rows. When the rows are full, neighbouring rows are merged. */
export class BoundedSeries<Row> {
  readonly #limit: number;
  readonly #merge: (older: Row, newer: Row) => Row;
  #rows: Row[] = [];
  /** Number of added rows from which each stored row was merged, a power of two. */
  #addedPerRow = 1;
  /** Newest stored rows. Each was merged from at most half as many added rows as the row before it. */
  readonly #open: { row: Row; added: number }[] = [];
  #added = 0;

  /**
   * @param limit maximum number of stored rows, an even number
   * @param merge merges two neighbouring rows that stand for equally many added rows
   */
  constructor(limit: number, merge: (older: Row, newer: Row) => Row) {
    this.#limit = limit;
    this.#merge = merge;
  }

  get added(): number {
    return this.#added;
  }

  /** Stored rows, oldest first. The last rows can stand for fewer added rows than the first rows. */
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
    if (newest.added < this.#addedPerRow) {
      this.#open.push(newest);
      return;
    }
    this.#rows.push(newest.row);
    if (this.#rows.length < this.#limit) return;
    this.#addedPerRow *= 2;
    this.#rows = Array.from({ length: this.#limit / 2 }, (_, pair) =>
      this.#merge(this.#rows[2 * pair] as Row, this.#rows[2 * pair + 1] as Row),
    );
  }
}
