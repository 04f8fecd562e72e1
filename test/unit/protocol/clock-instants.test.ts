import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ClockLine, ConvertingClock } from '../../../protocol/base/clock/clock-line.ts';
import { convertInstants } from '../../../protocol/base/clock/instants.ts';

const SECOND = 1_000_000;
const AHEAD = 400_000 * SECOND;
const reading = (seconds: number, offsetUs: number, uncertaintyUs: number) => {
  return { atUs: seconds * SECOND, offsetUs: AHEAD + offsetUs, uncertaintyUs };
};

it('converts the timestamps of a message to another clock at any depth, and nothing else', () => {
  const message = {
    atUs: 3,
    sentAtUs: 5,
    latUs: 1,
    firstUs: 5,
    list: [{ latencyFromAtUs: null }, { startedAtUs: 7, counts: [7] }],
  };
  assert.deepEqual(
    convertInstants(message, (atUs) => atUs + 100),
    {
      atUs: 103,
      sentAtUs: 105,
      latUs: 1,
      firstUs: 5,
      list: [{ latencyFromAtUs: null }, { startedAtUs: 107, counts: [7] }],
    },
  );
});

for (const [what, errorOf] of [
  ['there', (clock: ConvertingClock) => clock.toTheirs(17 * SECOND) - 17 * SECOND - AHEAD],
  ['back', (clock: ConvertingClock) => clock.toOurs(17 * SECOND + AHEAD) - 17 * SECOND],
] as const) {
  it(`a clock records the largest error bound that applied when it converted times ${what}`, () => {
    const line = new ClockLine(false);
    const clock = new ConvertingClock(line);
    for (const seconds of [1, 6]) line.add(reading(seconds, 0, 50));
    // Simulates a disturbance in which one direction takes long.
    for (const seconds of [11, 14, 17]) line.add(reading(seconds, 34_000, 40_000));
    const errorUs = Math.abs(errorOf(clock));
    assert.ok(errorUs > 30_000, String(errorUs));
    for (const seconds of [18, 21, 31]) line.add(reading(seconds, 0, 50));
    assert.equal(line.boundUs, 50);
    assert.ok(clock.boundUs >= errorUs, String(clock.boundUs));
    assert.equal(clock.offsetUs, AHEAD);
    assert.equal(clock.toOurs(AHEAD + 31 * SECOND), 31 * SECOND);
  });
}
