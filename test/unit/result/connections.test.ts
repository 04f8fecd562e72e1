import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { connectionFigures } from '../../../plugin/result/connections/connections.ts';
import { encoded, measurements, snapshot } from '../../helpers/measurements.ts';

describe('connections of several engines', () => {
  const { connectUs } = snapshot();
  const timed = (totalUs: number[], tcpUs: number[]) => ({
    connectUs: { ...connectUs, total: encoded(totalUs), tcp: encoded(tcpUs) },
    openings: { startedAtUs: 0, intervalUs: 100_000, counts: [5, 5, 5] },
  });
  const figures = connectionFigures(
    measurements({
      configuredRatePerSec: 100,
      peakConnections: 3,
      ramps: [{ beganAtUs: 0, endedAtUs: 1e6, seconds: 0.3, connections: 30 }],
      snapshots: [
        snapshot({
          ...timed([1000, 3000], [100]),
          retries: 1,
          disconnects: { ping: 3 },
          failureExamples: { http_401: 'bad token' },
        }),
        snapshot({
          ...timed([5000], []),
          retries: 2,
          disconnects: { ping: 2, transport: 1 },
          failureExamples: { http_401: 'another', closed: 'no answer' },
        }),
      ],
    }),
  );

  it('add up their retries and disconnects', () => {
    assert.equal(figures.retries, 3);
    assert.deepEqual(figures.disconnects, { ping: 5, transport: 1 });
  });

  it('keep the first example of each failure', () => {
    assert.deepEqual(figures.failureExamples, { http_401: 'bad token', closed: 'no answer' });
  });

  it('have one distribution of connect times, and one of each stage that was measured', () => {
    assert.equal(figures.connectMs?.count, 3);
    assert.equal(Math.round(figures.connectMs.p50), 3);
    assert.deepEqual(Object.keys(figures.stagesMs), ['tcp']);
    assert.equal(figures.stagesMs.tcp?.count, 1);
  });

  it('have the rate that was reached beside the one asked for', () => {
    const { achievedRatePerSec, rampSeconds, configuredRatePerSec, peak } = figures;
    assert.deepEqual([achievedRatePerSec, rampSeconds, configuredRatePerSec, peak], [100, 0.3, 100, 3]);
  });

  it('have no rate where nothing was opened', () => {
    const { achievedRatePerSec, rampSeconds } = connectionFigures(measurements({ snapshots: [snapshot()] }));
    assert.deepEqual([achievedRatePerSec, rampSeconds], [null, null]);
  });
});
