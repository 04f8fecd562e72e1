/** The rate of ramps whose connections were opened at known times. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { achievedRate } from '../../../plugin/result/connections/rate.ts';
import type { Ramp } from '../../../plugin/run/measurements/windows.ts';

const INTERVAL_US = 100_000;

const openings = (startedAtUs: number, counts: number[]) => ({
  openings: { startedAtUs, intervalUs: INTERVAL_US, counts },
});

const ramp = (seconds: number, connections: number, changes: Partial<Ramp> = {}): Ramp => ({
  beganAtUs: 0,
  endedAtUs: Number.POSITIVE_INFINITY,
  seconds,
  connections,
  ...changes,
});

const times = (length: number, count: number): number[] => Array.from({ length }, () => count);

describe('the achieved rate', () => {
  it('is the configured one where the ramp was steady', () => {
    assert.deepEqual(achievedRate([openings(0, times(20, 5))], [ramp(2, 100)]), { perSec: 50, seconds: 2 });
  });

  it('has a freeze in it: 1.5 s of nothing, and then all that waited', () => {
    const frozen = [...times(40, 5), ...times(15, 0), 80, ...times(44, 5)];
    assert.deepEqual(achievedRate([openings(0, frozen)], [ramp(10, 500)]), { perSec: 50, seconds: 10 });
    // Without the connections that waited, the rate is what is left.
    const refused = [...times(40, 5), ...times(16, 0), ...times(44, 5)];
    assert.deepEqual(achievedRate([openings(0, refused)], [ramp(10, 500)]), { perSec: 42, seconds: 10 });
  });

  it('is lower where a freeze held up the end of the ramp', () => {
    // 101 connections, the last ones 6 s after the first, and the time of one connection.
    const late = achievedRate([openings(0, [...times(40, 2), ...times(20, 0), 21])], [ramp(2.02, 101)]);
    assert.deepEqual(late, { perSec: 101 / 6.06, seconds: 6.06 });
  });

  it('cannot be above the configured one, however fast the connections came, or came again', () => {
    const burst = achievedRate([openings(0, [60, 40])], [ramp(2, 100)]);
    assert.deepEqual(burst, { perSec: 50, seconds: 2 });
    const reconnected = achievedRate([openings(0, [...times(20, 5), 30])], [ramp(2, 100)]);
    assert.ok((reconnected?.perSec ?? 0) <= 50);
  });

  it('leaves the pauses between ramps out, and what comes back after the last one', () => {
    const counts = [...times(10, 10), ...times(50, 0), ...times(10, 10), ...times(30, 0), 7];
    const ramps = [
      ramp(1, 100, { endedAtUs: 1_500_000 }),
      ramp(1, 100, { beganAtUs: 6_000_000, endedAtUs: 8_000_000 }),
    ];
    assert.deepEqual(achievedRate([openings(0, counts)], ramps), { perSec: 100, seconds: 2 });
  });

  it('adds up processes that began at different times, whichever comes first', () => {
    const [early, late] = [openings(1_000_000, [10, 10]), openings(1_500_000, [10, 10])];
    // 40 connections from 1.0 s to 1.6 s, and the time of one.
    const both = { perSec: 65, seconds: 40 / 65 };
    assert.deepEqual(achievedRate([early, late], [ramp(0.4, 40)]), both);
    assert.deepEqual(achievedRate([late, early], [ramp(0.4, 40)]), both);
  });

  it('counts a connection that was open before the run heard of its phase', () => {
    const rate = achievedRate([openings(0, times(20, 5))], [ramp(2, 100, { beganAtUs: 150_000 })]);
    assert.deepEqual(rate, { perSec: 50, seconds: 2 });
  });

  it('counts a ramp in which nothing was opened', () => {
    const ramps = [ramp(2, 100, { endedAtUs: 2_000_000 }), ramp(2, 100, { beganAtUs: 3_000_000 })];
    assert.deepEqual(achievedRate([openings(0, times(20, 5))], ramps), { perSec: 25, seconds: 4 });
  });

  it('is unknown where nothing was opened, or no ramp begun', () => {
    assert.equal(achievedRate([openings(0, [])], [ramp(2, 100)]), null);
    assert.equal(achievedRate([openings(0, [7])], []), null);
    assert.equal(achievedRate([], [ramp(2, 100)]), null);
  });
});
