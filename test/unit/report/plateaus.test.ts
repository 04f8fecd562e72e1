import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fitGiven, fitPlateaus, type PlateauPoint } from '../../../report/statistics/plateaus.ts';
import { fitLine } from '../../../report/statistics/statistics.ts';

const SLOPE = 0.01;

interface Noise {
  /** Deviation of each reading, and of what is added from plateau to plateau and stays; a step is 10 / (plateaus − 1). */
  reading: number;
  staying: number;
}

const KINDS: Record<string, Noise> = {
  independent: { reading: 0.5, staying: 0 },
  staying: { reading: 0.01, staying: 0.3 },
  mixed: { reading: 0.5, staying: 0.2 },
};

/** Always the same numbers. */
function generator(seed: number): () => number {
  let state = seed;
  const uniform = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32 + 2 ** -33;
  };
  return () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
}

function drawn(normal: () => number, { reading, staying }: Noise, plateaus: number, readings: number): PlateauPoint[] {
  let stayed = 0;
  return Array.from({ length: plateaus }, (_, index) => {
    const x = (1000 * index) / (plateaus - 1);
    if (index > 0) stayed += staying * normal();
    const all = Array.from({ length: readings }, () => SLOPE * x + stayed + reading * normal());
    const y = all.reduce((sum, one) => sum + one, 0) / readings;
    const squares = all.reduce((sum, one) => sum + (one - y) ** 2, 0);
    return { x, y, variance: squares / (readings - 1) / readings };
  });
}

/** @returns how many intervals of a hundred contain the slope, and their median half width as a share of it */
function repeated(noise: Noise, plateaus: number, readings = 3): { covering: number; width: number } {
  const normal = generator(plateaus);
  const lines = Array.from({ length: 150 }, () => fitPlateaus(drawn(normal, noise, plateaus, readings)));
  const intervals = lines.map((line) => [line?.low95 ?? Number.NaN, line?.high95 ?? Number.NaN] as const);
  const covering = intervals.filter(([low, high]) => low <= SLOPE && SLOPE <= high).length;
  const widths = intervals.map(([low, high]) => (high - low) / 2 / SLOPE).sort((a, b) => a - b);
  return { covering: (100 * covering) / lines.length, width: widths[75] as number };
}

/**
 * By statsmodels 0.15, for each ratio q of the variances:
 *   m = UnobservedComponents(y, 'local level', exog=x[:, None], use_exact_diffuse=True, mle_regression=False)
 *   r = m.smooth([1.0, q]); r.smoothed_state[1, -1], sqrt(r.smoothed_state_cov[1, 1, -1])
 */
it('knows the slope and its error as a Kalman smoother does, where the variances are given', () => {
  const points = [100, 109.2, 121.5, 129.1, 142.3, 150.8, 163.9, 171.2, 182.7].map((y, i) => ({ x: 10 * i, y }));
  for (const [ratio, slope, error] of [
    [0, 1.0388333333333333, 0.012909944487358056],
    [0.3, 1.03716904673971, 0.023855259649449904],
    [3, 1.0342725598526699, 0.06336192046497018],
  ] as const) {
    const fit = fitGiven(points, 1, ratio);
    assert.ok(Math.abs(fit.slope - slope) < 1e-6, `${ratio}: ${fit.slope}`);
    assert.ok(Math.abs(1 / Math.sqrt(fit.information) - error) < 1e-6, `${ratio}: ${fit.information}`);
  }
});

describe('the interval of a slope', () => {
  for (const [kind, noise] of Object.entries(KINDS)) {
    for (const plateaus of [5, 9, 17]) {
      it(`contains the true one with ${kind} noise and ${plateaus} plateaus`, () => {
        const { covering } = repeated(noise, plateaus);
        assert.ok(covering >= 88, `${covering} %`);
      });
    }
  }

  it('shrinks with plateaus, and with readings where these tell the noise', () => {
    const { independent = { reading: 1, staying: 0 } } = KINDS;
    const widths = [5, 9, 17].map((plateaus) => repeated(independent, plateaus).width);
    assert.ok((widths[1] as number) < 0.8 * (widths[0] as number), widths.join());
    assert.ok((widths[2] as number) < 0.8 * (widths[1] as number), widths.join());
    const [few, many] = [repeated(independent, 9, 3), repeated(independent, 9, 12)];
    assert.ok(many.width < 0.65 * few.width, `${few.width}, ${many.width}`);
  });

  it('is nothing around a perfect line, at any scale', () => {
    const line = fitPlateaus([0, 1, 2, 3].map((x) => ({ x: 1e4 * x, y: 5e9 + 1e8 * x })));
    assert.ok(line && Math.abs(line.slope - 1e4) < 1e-6 && Math.abs(line.intercept - 5e9) < 1);
    assert.ok(line.high95 !== null && line.high95 - line.slope < 1e-3);
    const flat = fitPlateaus([0, 1, 2].map((x) => ({ x, y: 7 })));
    assert.deepEqual(
      [flat?.slope, flat?.low95, flat?.high95].map((value) => Math.abs(Math.round(value ?? 9))),
      [0, 0, 0],
    );
  });

  it('is not known from two points, and finite where points share their x', () => {
    const two = [
      { x: 0, y: 1 },
      { x: 10, y: 2 },
    ];
    assert.deepEqual(fitPlateaus(two), fitLine(two));
    assert.equal(fitPlateaus([]), null);
    const twice = fitPlateaus([0, 2, 4, 6, 8, 8].map((x, index) => ({ x, y: x + 0.01 * (index % 2) })));
    assert.ok(twice?.low95 && twice.low95 > 0.9 && twice.high95 < 1.1, `${twice?.low95} ${twice?.high95}`);
  });
});
