import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  addClockReading,
  type ClockReading,
  followClock,
  monotonicUs,
  readClock,
} from '../../../protocol/base/clock/clock.ts';
import { VirtualTime } from '../../helpers/virtual-time.ts';

it('reads CLOCK_MONOTONIC in whole microseconds', () => {
  const us = () => Number(process.hrtime.bigint() / 1000n);
  // Uses the closest of several readings, because the process can be paused between two readings.
  const offUs = Array.from({ length: 100 }, () => {
    const beforeUs = us();
    const nowUs = monotonicUs();
    assert.ok(Number.isInteger(nowUs));
    return Math.max(beforeUs - nowUs, nowUs - us());
  });
  assert.ok(Math.min(...offUs) < 50, `${Math.min(...offUs)} us off`);
});

it('a clock reading applies to the middle of its round trip, with an error of half of it', async (t) => {
  const time = new VirtualTime(t);
  const beganAtUs = monotonicUs();
  const reading = await readClock(async () => {
    await time.pass(10);
    return { monotonicUs: beganAtUs + 9000 };
  });
  assert.deepEqual(reading, { atUs: beganAtUs + 5000, offsetUs: 4000, uncertaintyUs: 5000 });
});

it('reads another clock repeatedly until it is stopped, and ignores failed readings', async (t) => {
  const time = new VirtualTime(t);
  const readings: ClockReading[] = [];
  const clock = { add: (one: ClockReading) => void readings.push(one) };
  const reading = { atUs: 1, offsetUs: 2, uncertaintyUs: 3 };
  let asked = 0;
  const read = async () => {
    if (++asked === 2) throw new Error('busy');
    return reading;
  };
  await addClockReading(clock, read);
  await addClockReading(clock, read);
  assert.deepEqual(readings, [reading]);
  const stop = followClock(clock, read, 100);
  await time.pass(350);
  stop();
  await time.pass(350);
  assert.deepEqual([asked, readings.length], [5, 4]);
});
