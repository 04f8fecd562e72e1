import assert from 'node:assert/strict';
import { test } from 'node:test';
import { offsetAt, readClocks, toOurs, toWorkers } from '../../../plugin/run/clocks.ts';

const reading = (atUs: number, offsetUs: number, uncertaintyUs = 100) => ({ atUs, offsetUs, uncertaintyUs });
const controlThatReads = (...clocks: ReturnType<typeof reading>[]) => ({ time: async () => clocks });

test('a clock without a second reading keeps its offset', () => {
  const clock = { begin: reading(1000, 5000) };
  assert.equal(offsetAt(clock, 99_000), 5000);
  assert.equal(toOurs(clock, 8000), 3000);
  assert.equal(toWorkers(clock, 3000), 8000);
});

test('a clock that goes fast is followed along the line through both readings', () => {
  const clock = { begin: reading(2_000_000, 1000), end: reading(12_000_000, 1200) };
  assert.equal(offsetAt(clock, 7_000_000), 1100);
  assert.equal(offsetAt(clock, 22_000_000), 1400, 'beyond the second reading, too');
  assert.ok(Math.abs(toOurs(clock, toWorkers(clock, 7_000_000)) - 7_000_000) < 1);
});

test('on one host there is one clock, and the error of asking for it is none of the latencies', async () => {
  const clocks = await readClocks(controlThatReads(reading(1, 150), reading(2, 150)), [true, false]);
  assert.deepEqual(clocks, [reading(1, 0, 0), reading(2, 150)]);
});

test('a clock of this host that is off nevertheless is taken as it is', async () => {
  assert.deepEqual(await readClocks(controlThatReads(reading(1, 5000)), [true]), [reading(1, 5000)]);
});

test('a worker that nothing is known of has our clock', () => {
  assert.equal(toOurs(undefined, 7), 7);
  assert.equal(toWorkers(undefined, 7), 7);
});
