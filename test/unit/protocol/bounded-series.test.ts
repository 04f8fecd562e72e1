import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BoundedSeries } from '../../../protocol/bounded-series.ts';

describe('BoundedSeries', () => {
  it('never has more rows than its limit, and loses no maximum', () => {
    const series = new BoundedSeries<{ t: number; max: number }>(4, (older, newer) => ({
      t: newer.t,
      max: Math.max(older.max, newer.max),
    }));
    const peaks = Array.from({ length: 11 }, (_, t) => ({ t, max: t === 2 ? 100 : t }));
    for (const row of peaks) series.add(row);
    // Of four each, and the rest.
    assert.deepEqual(series.rows, [
      { t: 3, max: 100 },
      { t: 7, max: 7 },
      { t: 10, max: 10 },
    ]);
  });
});
