/** A series of unlimited length in a limited number of rows: as it grows, neighbouring rows are merged. */
export class BoundedSeries<Row> {
  readonly #limit: number;
  readonly #merge: (older: Row, newer: Row) => Row;
  #rows: Row[] = [];
  /** Number of added rows that each row represents, a power of two. */
  #addedPerRow = 1;
  /** The newest rows, which represent fewer: each at most half as many as the previous one. */
  readonly #open: { row: Row; added: number }[] = [];
  #added = 0;

  /** @param limit largest number of rows, even @param merge merges two neighbours that represent equally many */
  constructor(limit: number, merge: (older: Row, newer: Row) => Row) {
    this.#limit = limit;
    this.#merge = merge;
  }

  get added(): number {
    return this.#added;
  }

  /** Rows, oldest first. The last rows can represent fewer added rows. */
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
