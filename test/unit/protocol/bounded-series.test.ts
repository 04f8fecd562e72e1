import assert from 'node:assert/strict';
import { it } from 'node:test';
import { BoundedSeries } from '../../../protocol/base/bounded-series.ts';

type Row = { t: number; added: number; max: number; mean: number };

const merge = (older: Row, newer: Row): Row => ({
  t: newer.t,
  added: older.added + newer.added,
  max: Math.max(older.max, newer.max),
  mean: (older.mean + newer.mean) / 2,
});
const row = (t: number): Row => ({ t, added: 1, max: t === 3 ? 1000 : t, mean: t });

it('a short time series is unchanged', () => {
  const series = new BoundedSeries<Row>(4, merge);
  for (const t of [1, 2, 3]) series.add(row(t));
  assert.deepEqual(series.rows, [1, 2, 3].map(row));
});

it('a long time series is reduced to about its limit of rows, with every maximum and a correct mean', () => {
  const series = new BoundedSeries<Row>(8, merge);
  for (let t = 1; t <= 1000; t++) {
    series.add(row(t));
    const { rows } = series;
    assert.ok(rows.length <= 8 + Math.log2(t), `${rows.length} rows of ${t}`);
    const all = rows.reduce((sum, { added }) => sum + added, 0);
    assert.deepEqual([series.added, all, rows.at(-1)?.t], [t, t, t]);
    assert.equal(Math.max(...rows.map(({ max }) => max)), t < 3 ? t : 1000);
    const isMean = rows.every((one) => one.mean === one.t - (one.added - 1) / 2);
    assert.ok(isMean, 'the mean of all that it stands for');
  }
});
