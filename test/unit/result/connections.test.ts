import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { connectionFigures } from '../../../plugin/result/connections.ts';
import { achievedRate } from '../../../plugin/result/rate.ts';
import { encoded, measurements, snapshot } from '../../helpers/measurements.ts';

const openings = (startedAtUs: number, counts: number[]) => ({
  openings: { startedAtUs, intervalUs: 100_000, counts },
});

describe('connections of several engines', () => {
  const { connectUs } = snapshot();
  const timed = (totalUs: number[], tcpUs: number[]) => ({
    connectUs: { ...connectUs, total: encoded(totalUs), tcp: encoded(tcpUs) },
    ...openings(0, [5, 5, 5]),
  });
  const figures = connectionFigures(
    measurements({
      configuredRatePerSec: 100,
      peakConnections: 3,
      snapshots: [
        snapshot({ ...timed([1000, 3000], [100]), retries: 1, disconnects: { ping: 3 } }),
        snapshot({ ...timed([5000], []), retries: 2, disconnects: { ping: 2, transport: 1 } }),
      ],
    }),
  );

  it('add up their retries and disconnects', () => {
    assert.equal(figures.retries, 3);
    assert.deepEqual(figures.disconnects, { ping: 5, transport: 1 });
  });

  it('have one distribution of connect times, and one of each stage that was measured', () => {
    assert.equal(figures.connectMs?.count, 3);
    assert.equal(Math.round(figures.connectMs.p50), 3);
    assert.deepEqual(Object.keys(figures.stagesMs), ['tcp']);
    assert.equal(figures.stagesMs.tcp?.count, 1);
  });

  it('have the rate that was reached beside the one asked for', () => {
    const { achievedRatePerSec, rampSeconds, configuredRatePerSec, peak } = figures;
    assert.deepEqual([achievedRatePerSec, rampSeconds, configuredRatePerSec, peak], [29 / 0.2, 0.2, 100, 3]);
  });

  it('have no rate where nothing was opened', () => {
    const { achievedRatePerSec, rampSeconds } = connectionFigures(measurements({ snapshots: [snapshot()] }));
    assert.deepEqual([achievedRatePerSec, rampSeconds], [null, null]);
  });
});

describe('the achieved rate', () => {
  it('goes by when each process began, whichever comes first', () => {
    const [early, late] = [openings(1_000_000, [10, 10]), openings(1_500_000, [10, 10])];
    const both = { perSec: 39 / 0.6, seconds: 0.6 };
    assert.deepEqual(achievedRate([early, late], 100), both);
    assert.deepEqual(achievedRate([late, early], 100), both);
  });

  it('sorts intervals as numbers', () => {
    const counts = Array.from({ length: 12 }, () => 1);
    assert.deepEqual(achievedRate([openings(0, counts)], 10), { perSec: 10, seconds: 1.1 });
  });

  it('takes a second without a connection for a pause, and anything shorter for a slow ramp', () => {
    const after = (gap: number) => achievedRate([openings(0, [5, 5, ...Array(gap).fill(0), 5, 5])], 100)?.seconds;
    assert.equal(after(8), 1.1);
    assert.equal(after(9), 0.2);
  });

  it('takes one for a pause also where nobody knows what rate was asked for, if it is longer than three', () => {
    const after = (gap: number) => achievedRate([openings(0, [5, 5, ...Array(gap).fill(0), 5, 5])], null)?.seconds;
    assert.equal(after(28), 3.1);
    assert.equal(after(29), 0.2);
  });
});
