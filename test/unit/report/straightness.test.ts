import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Point } from '../../../report/statistics/statistics.ts';
import { bendOf, doubtOf } from '../../../report/statistics/straightness.ts';

const MB = 1024 * 1024;
/** Errors in MB that look random, always the same. */
const NOISE = [0.4, -0.7, 0.2, 0.6, -0.5];

/** Memory in MB at 0, 250, … 1,000 connections, 100 at none. */
function series(mbAt: (share: number) => number, noise = 0): Point[] {
  return NOISE.map((error, index) => ({ x: index * 250, y: (100 + mbAt(index / 4) + noise * error) * MB }));
}

describe('a line may be quoted', () => {
  it('where it is straight and known well', () => {
    assert.equal(doubtOf(series((share) => 10 * share)), undefined);
    assert.equal(doubtOf(series((share) => 10 * share, 0.5)), undefined);
  });

  it('where it bends by less than a fifth, or by less than its error', () => {
    // The cost of a connection rises from 0.92 to 1.08 of the average.
    assert.equal(doubtOf(series((share) => 10 * (0.92 * share + 0.08 * share ** 2))), undefined);
    const noisy = series((share) => 10 * (0.8 * share + 0.2 * share ** 2), 0.25);
    const bend = bendOf(noisy);
    assert.ok(bend && bend.share > 0.2 && bend.share < bend.halfWidth, `${bend?.share} ± ${bend?.halfWidth}`);
    assert.equal(doubtOf(noisy), undefined);
  });
});

describe('a line may not be quoted', () => {
  it('where memory does not rise, falls, or may have done neither', () => {
    assert.equal(doubtOf(series(() => 0)), 'noRise');
    assert.equal(doubtOf(series((share) => -5 * share)), 'noRise');
    assert.equal(doubtOf(series((share) => share, 2)), 'noRise');
  });

  it('where its interval is wide', () => {
    const points = series((share) => 4 * share, 1);
    assert.equal(doubtOf(points), 'wide');
    assert.equal(doubtOf(series((share) => 16 * share, 1)), undefined, 'the same noise on four times as much');
  });

  it('where the n-th connection costs more than the first, or less', () => {
    assert.equal(doubtOf(series((share) => 10 * share ** 2)), 'curved', 'and not just wide');
    assert.equal(doubtOf(series((share) => 10 * share ** 2, 0.1)), 'curved');
    assert.equal(doubtOf(series((share) => 10 * (1.5 * share - 0.5 * share ** 2))), 'curved');
  });

  it('with fewer than three numbers of connections', () => {
    const points = series((share) => 10 * share);
    assert.equal(doubtOf([]), 'fewPlateaus');
    assert.equal(doubtOf(points.slice(0, 2)), 'fewPlateaus');
    assert.equal(doubtOf([...points.slice(0, 2), ...points.slice(0, 2)]), 'fewPlateaus');
  });
});

describe('the bend', () => {
  it('is the change of the cost from the first connection to the last, as a share of the average', () => {
    // 10 · (0.5 s + 0.5 s²) costs from 5 to 15.
    const bend = bendOf(series((share) => 10 * (0.5 * share + 0.5 * share ** 2)));
    assert.ok(bend && Math.abs(bend.share - 1) < 1e-6 && bend.halfWidth < 1e-6);
    const saving = bendOf(series((share) => 10 * (1.5 * share - 0.5 * share ** 2)));
    assert.ok(saving && Math.abs(saving.share + 1) < 1e-6);
  });

  it('is not known of three points, which always lie on a parabola', () => {
    assert.equal(bendOf(series((share) => 10 * share ** 2).slice(0, 3)), null);
  });
});
