/** What few broadcasts can tell of the latency. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { latencyFigures } from '../../../plugin/result/delivery/latency.ts';
import { frozenBroadcast, measurements } from '../../helpers/measurements.ts';
import { fullText } from '../../helpers/report-text.ts';
import { perfectResult } from '../../helpers/results.ts';

/** Of broadcasts that reached ten receivers each, the last of them after so many milliseconds. */
function figures(lastMs: number[]) {
  const frozen = lastMs.map((last, index) =>
    frozenBroadcast(
      index + 1,
      Array.from({ length: 10 }, (_, receiver) => (last - 9 + receiver) * 1000),
    ),
  );
  return latencyFigures(measurements({ frozen }));
}

describe('six broadcasts', () => {
  const latency = figures([60, 20, 21, 22, 23, 24]);

  it('have no percentile but the median, neither of copies nor of broadcasts', () => {
    for (const summary of [latency.oneWayMs, latency.completionMs]) {
      const { p90, p95, p99, p999 } = summary ?? {};
      assert.deepEqual([p90, p95, p99, p999], [null, null, null, null]);
    }
    assert.equal(latency.oneWayMs?.count, 60);
    assert.equal(latency.completionMs?.max, 60);
  });

  it('have an interval of the median, over all of them', () => {
    assert.equal(latency.intervals?.completionMs.p99, null);
    const { low95, high95 } = latency.intervals?.completionMs.p50 ?? {};
    assert.deepEqual([low95, high95], [20, 60]);
  });

  it('show the first one apart where it is far slower than the others', () => {
    assert.deepEqual(latency.slowFirst, { seq: 1, lastMs: 60, othersP50Ms: 22, othersMaxMs: 24 });
    // The others' quartiles are 20.5 and 23.5.
    assert.equal(figures([32.5, 20, 21, 22, 23, 24]).slowFirst, null);
    assert.equal(figures([20, 60, 21, 22, 23, 24]).slowFirst, null, 'another one is not the first');
    assert.equal(figures([60, 20, 20, 20, 20]).slowFirst, null, 'four others are no rule');
  });

  it('are said to be too few, with what they tell', () => {
    const result = perfectResult();
    Object.assign(result.delivery ?? {}, { broadcasts: 6 });
    const text = fullText({ ...result, latency });
    assert.match(text, /over 6 broadcasts: .*last receiver, p50 20\.0 to 60\.0 ms/);
    assert.match(text, /too few broadcasts/);
    assert.match(text, /first broadcast took 60\.0 ms .* others 22\.0 ms \(median; at most 24\.0 ms\)/);
  });
});

it('a hundred broadcasts carry p99, and no interval of it', () => {
  const latency = figures(Array.from({ length: 100 }, (_, index) => 20 + index));
  assert.notEqual(latency.oneWayMs?.p99, null);
  assert.equal(latency.oneWayMs?.p999, null);
  assert.equal(latency.intervals?.oneWayMs.p99, null);
  const { low95 = 0, high95 = 0 } = latency.intervals?.completionMs.p50 ?? {};
  assert.ok(low95 > 55 && low95 < 69 && high95 > 70 && high95 < 84, `${low95} to ${high95}`);
});

it('broadcasts that reached nobody give no figure', () => {
  const { oneWayMs, intervals, slowFirst } = latencyFigures(measurements());
  assert.deepEqual([oneWayMs, intervals, slowFirst], [null, null, null]);
});
