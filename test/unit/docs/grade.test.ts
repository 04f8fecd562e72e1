/** The published benchmark report's own figures, of our runs. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GRADES, gradeOf, theoreticalMax } from '../../../docs/studies/grade.ts';
import { page } from '../../helpers/pages.ts';
import { perfectResult, summaryOf } from '../../helpers/results.ts';

describe('the grade', () => {
  const result = perfectResult();
  const withDelivery = (coverage: number) =>
    gradeOf({ ...result, delivery: { ...result.delivery, coverage } as never });

  it('falls with what is missing', () => {
    const coverages = [1, 0.9999, 0.999, 0.998, 0.98, 0.773];
    assert.deepEqual(coverages.map(withDelivery), ['A+', 'B', 'B', 'C', 'D', 'F']);
  });

  it('is no A+ for slow broadcasts or a rate that was not reached', () => {
    const slow = { ...result.latency, completionMs: { ...summaryOf(12, 50), p99: 301 } };
    assert.equal(gradeOf({ ...result, latency: slow }), 'A');
    assert.equal(gradeOf({ ...result, connections: { ...result.connections, achievedRatePerSec: 300 } }), 'A');
  });

  it('counts connections that are missing, too', () => {
    const { connections } = result;
    assert.equal(gradeOf({ ...result, connections: { ...connections, held: 4960 } }), 'C');
    // An external engine's connections were counted at the plateaus only.
    assert.equal(gradeOf({ ...result, connections: { ...connections, held: null, peak: 4960 } }), 'C');
  });

  it('is not given where nothing can be said', () => {
    assert.equal(gradeOf({ ...result, verdict: { status: 'INVALID', reasons: [] } }), null);
    assert.equal(gradeOf({ ...result, delivery: null }), null);
  });

  it('has its rules on the page that shows it', () => {
    const rows = [...page('docs/studies/index.md').matchAll(/^\| ([A-F]\+?) +\| (.*?) +\|$/gm)];
    assert.deepEqual(
      rows.map(([, grade, rule]) => ({ grade, rule })),
      GRADES.map(({ grade, rule }) => ({ grade, rule })),
    );
  });
});

it('the theoretical maximum is 2 GiB × connections ÷ peak RSS', () => {
  const of = (peak: number, workerRss?: number) => {
    const { connections, memory } = perfectResult();
    const peakBytes: Record<string, number> = workerRss === undefined ? {} : { workerRss };
    return theoreticalMax({ connections: { ...connections, peak }, memory: { ...memory, peakBytes } });
  };
  assert.equal(of(10_000, 1024 ** 3), 20_000);
  // The published 5k report: 286 MB.
  assert.equal(of(5000, 286 * 1024 ** 2), 35_804);
  assert.deepEqual([of(0, 1024 ** 3), of(10), of(10, 0)], [null, null, null]);
});
