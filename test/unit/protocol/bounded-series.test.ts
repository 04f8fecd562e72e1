import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BoundedSeries } from '../../../protocol/bounded-series.ts';

describe('BoundedSeries', () => {
  const merge = (older: Row, newer: Row): Row => ({
    t: newer.t,
    added: older.added + newer.added,
    max: Math.max(older.max, newer.max),
    mean: (older.mean + newer.mean) / 2,
  });
  const row = (t: number): Row => ({ t, added: 1, max: t === 3 ? 1000 : t, mean: t });

  it('keeps a short series as it is', () => {
    const series = new BoundedSeries<Row>(4, merge);
    for (const t of [1, 2, 3]) series.add(row(t));
    assert.deepEqual(series.rows, [1, 2, 3].map(row));
  });

  it('never has many more rows than its limit, loses no maximum, and counts nothing twice', () => {
    const series = new BoundedSeries<Row>(8, merge);
    for (let t = 1; t <= 1000; t++) {
      series.add(row(t));
      const { rows } = series;
      assert.ok(rows.length <= 8 + Math.log2(t), `${rows.length} rows of ${t}`);
      assert.equal(series.added, t);
      assert.equal(
        rows.reduce((sum, { added }) => sum + added, 0),
        t,
      );
      assert.equal(Math.max(...rows.map(({ max }) => max)), t < 3 ? t : 1000);
      assert.equal(rows.at(-1)?.t, t);
      assert.ok(
        rows.every((one) => one.mean === one.t - (one.added - 1) / 2),
        'the mean of all that it stands for',
      );
    }
  });
});

interface Row {
  t: number;
  added: number;
  max: number;
  mean: number;
}
