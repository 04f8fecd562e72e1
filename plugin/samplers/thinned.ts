/**
 * A series of unlimited length in limited memory: rows are merged in pairs as they age, and the pairs again. After n rows it
 * keeps about log2 n × `MERGED` of them.
 */

/** This many of the newest rows are as they were added. */
const NEWEST = 1800;
/** Of each length of time that merged rows stand for. */
const MERGED = 240;

export class Thinned<Row> {
  readonly #merge: (older: Row, newer: Row) => Row;
  /** Each has rows of twice as many added ones as the one before; the oldest row comes first. */
  readonly #tiers: Row[][] = [[]];
  #added = 0;

  /** @param merge of two neighbours that stand for equally many rows */
  constructor(merge: (older: Row, newer: Row) => Row) {
    this.#merge = merge;
  }

  /** Rows that have been added. */
  get added(): number {
    return this.#added;
  }

  /** The oldest first. */
  get rows(): Row[] {
    return this.#tiers.toReversed().flat();
  }

  get newest(): Row | undefined {
    return this.#tiers[0]?.at(-1);
  }

  add(row: Row): void {
    this.#added++;
    this.#tiers[0]?.push(row);
    for (let tier = 0; tier < this.#tiers.length; tier++) {
      const rows = this.#tiers[tier] as Row[];
      if (rows.length <= (tier === 0 ? NEWEST : MERGED)) return;
      const [older, newer] = rows.splice(0, 2) as [Row, Row];
      this.#tiers[tier + 1] ??= [];
      this.#tiers[tier + 1]?.push(this.#merge(older, newer));
    }
  }
}
