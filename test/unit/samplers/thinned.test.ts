import assert from 'node:assert/strict';
import { it } from 'node:test';
import { mergeRows, type SampleRow } from '../../../plugin/samplers/sample-row.ts';
import { Thinned } from '../../../plugin/samplers/thinned.ts';

const DAYS = 2;
const SECONDS = DAYS * 86_400;

it('two days of seconds takes a few thousand rows, in which no peak is lost and nothing counts twice', () => {
  const series = new Thinned<{ t: number; seconds: number; most: number }>((older, newer) => ({
    t: newer.t,
    seconds: older.seconds + newer.seconds,
    most: Math.max(older.most, newer.most),
  }));
  for (let t = 1; t <= SECONDS; t++) series.add({ t, seconds: 1, most: t === 100_000 ? 9 : 1 });
  const { rows } = series;
  assert.ok(rows.length < 4000, `${rows.length} rows`);
  assert.equal(series.added, SECONDS);
  assert.equal(
    rows.reduce((sum, { seconds }) => sum + seconds, 0),
    SECONDS,
  );
  assert.equal(Math.max(...rows.map(({ most }) => most)), 9);
  assert.deepEqual(
    rows.map(({ t }) => t),
    rows.map(({ t }) => t).sort((a, b) => a - b),
  );
  assert.equal(series.newest?.t, SECONDS);
  assert.ok(
    rows.slice(-1800).every(({ seconds }) => seconds === 1),
    'the last half hour is whole',
  );
});

it('a short series is kept as it is', () => {
  const series = new Thinned<number>(() => assert.fail());
  for (let value = 0; value < 1800; value++) series.add(value);
  assert.deepEqual(
    series.rows,
    Array.from({ length: 1800 }, (_, value) => value),
  );
});

it('two rows become one with the highest memory and the mean of the CPU', () => {
  const row = (t: number, connections: number, layers: object) => ({ t, connections, ...layers }) as SampleRow;
  const older = row(1, 20, { worker: { rssBytes: 500, derivedPssBytes: 450, cpuPercent: 10 }, nginx: { rssBytes: 7 } });
  const newer = row(2, 10, { worker: { rssBytes: 400, pssBytes: 300, cpuPercent: 30 }, redis: { rssBytes: 8 } });
  assert.deepEqual(mergeRows(older, newer), {
    t: 2,
    connections: 20,
    worker: { rssBytes: 500, derivedPssBytes: 450, cpuPercent: 20 },
    nginx: { rssBytes: 7 },
    redis: { rssBytes: 8 },
  });
  const first = row(0, 0, { worker: { rssBytes: 1, pssBytes: 900 } });
  assert.deepEqual(mergeRows(first, older).worker, { rssBytes: 500, pssBytes: 900, cpuPercent: 10 });
});
