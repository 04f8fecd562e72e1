import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ClockLine } from '../../../protocol/base/clock/clock-line.ts';
import { clockOffsetAt } from '../../../protocol/base/clock/clock-segments.ts';
import { assertEach } from '../../helpers/columns.ts';
import { randomSource } from '../../helpers/random-source.ts';

const SECOND = 1_000_000;
const AHEAD = 400_000 * SECOND;
const reading = (seconds: number, offsetUs: number, uncertaintyUs: number) => {
  return { atUs: seconds * SECOND, offsetUs: AHEAD + offsetUs, uncertaintyUs };
};

/** @returns the line with the added readings */
function add(
  line: ClockLine,
  ...readings: (readonly [seconds: number, offsetUs: number, uncertaintyUs?: number])[]
): ClockLine {
  for (const [seconds, offsetUs, uncertaintyUs = 50] of readings) line.add(reading(seconds, offsetUs, uncertaintyUs));
  return line;
}

describe('the line of another clock', () => {
  it('a clock model keeps the quickest reading of every ten seconds, and interpolates and extrapolates linearly', () => {
    const line = add(new ClockLine(false), [1, 900, 900], [5, 100, 50], [8, 700, 700], [15, 300, 40]);
    assert.equal(line.offsetAt(5 * SECOND), AHEAD + 100);
    assert.equal(line.offsetAt(10 * SECOND), AHEAD + 200);
    assert.deepEqual([line.offsetAt(0), line.offsetAt(20 * SECOND)], [AHEAD, AHEAD + 400]);
    assert.equal(line.offsetAt(99 * SECOND), AHEAD + 300, 'too far to say');
    assert.equal(Math.round(line.toOurs(line.toTheirs(12 * SECOND))), 12 * SECOND);
    assert.equal(line.boundUs, 50 + 200, 'nothing else tells how straight it is');
  });

  it('a clock model starts a new interval before and after readings that it must keep', () => {
    const line = new ClockLine(false);
    line.add(reading(1, 0, 10));
    line.separate();
    add(line, [2, 500, 300], [2.1, 44, 200]);
    line.separate();
    line.add(reading(3, 80, 10));
    assert.equal(line.offsetAt(2.1 * SECOND), AHEAD + 44);
    assert.equal(line.offsetAt(2 * SECOND), AHEAD + 40, 'the quickest of its interval counts alone');
  });

  it('a clock model ignores slow readings of an interval that just started or was cut short', () => {
    const line = new ClockLine(false);
    for (const seconds of [1, 6]) line.add(reading(seconds, 0, 50));
    for (const seconds of [11, 12, 15]) line.add(reading(seconds, 3000, 4000));
    assert.deepEqual([line.offsetAt(12 * SECOND), line.boundUs], [AHEAD, 50]);
    line.separate();
    line.add(reading(16, 0, 60));
    assert.deepEqual([line.offsetAt(12 * SECOND), line.boundUs], [AHEAD, 60]);
    for (const seconds of [21, 26]) line.add(reading(seconds, 3000, 4000));
    assert.deepEqual([line.offsetAt(21 * SECOND), line.boundAt(20 * SECOND)], [AHEAD + 3000, 4000 + 3000]);
  });

  it('a clock model takes the quickest reading of a slow interval after a while', () => {
    const line = new ClockLine(false);
    line.add(reading(1, 0, 50));
    add(line, [11, 3000, 4000], [13, 1000, 2000], [16, 3000, 4000]);
    assert.equal(line.offsetAt(13 * SECOND), AHEAD + 1000);
    line.add(reading(21, 700, 2500));
    line.add(reading(31, 0, 50));
    assert.equal(line.offsetAt(21 * SECOND), AHEAD + 700, 'no reading came until the next interval');
  });

  it('a clock model ignores a reading that is older than the last one', () => {
    const line = add(new ClockLine(false), [2, 0, 50], [1, 700, 10]);
    assert.deepEqual([line.offsetAt(SECOND), line.boundUs], [AHEAD, 50]);
    line.add(reading(2, 40, 10));
    assert.deepEqual([line.offsetAt(SECOND), line.boundUs], [AHEAD + 40, 10], 'one of the same time counts');
    line.add(reading(10, 60, 10));
    assert.equal(line.offsetAt(10 * SECOND), AHEAD + 60, 'the next interval begins');
  });

  it('the error bound of a clock model includes the drift since the nearest reading', () => {
    const line = new ClockLine(false);
    for (const seconds of [1, 11, 12]) line.add(reading(seconds, 0, 50));
    assertEach([3, 11, 20], (seconds) => line.worstAt(seconds * SECOND), [50 + 1000, 50, 50 + 4500]);
    const ownLine = new ClockLine(true);
    ownLine.add({ atUs: SECOND, offsetUs: 0, uncertaintyUs: 40 });
    assert.equal(ownLine.worstAt(9 * SECOND), 0);
  });

  it('the error bound of a clock model grows by the amount that the line bends', () => {
    const line = add(new ClockLine(false), [5, 0], [15, 100], [25, 500], [35, 600]);
    assertEach([10, 20, 30], (seconds) => line.boundAt(seconds * SECOND), [50 + 300, 50 + 300, 50 + 300]);
    line.add(reading(45, 700, 50));
    assertEach([24, 25, 30], (seconds) => line.boundAt(seconds * SECOND), [50 + 300, 50, 50], 'it goes on straight');
    assert.equal(line.boundUs, 50 + 300);
  });

  for (const byUs of [80_000, -80_000]) {
    it(`a clock model starts again if the clock jumps by ${byUs / 1000} ms`, () => {
      const line = new ClockLine(false);
      for (const seconds of [1, 2, 3]) line.add(reading(seconds, 0, 50));
      for (const seconds of [4, 5, 6, 11, 12]) line.add(reading(seconds, byUs, 50));
      // Maximum of the jump: its size, the errors of the readings on both sides, and a drift of 500 µs in the second
      // between them.
      const jumpUs = 80_000 + 50 + 50 + 500;
      for (const [seconds, offset] of [
        [1, 0],
        [2.9, 0],
        [3.5, byUs],
        [4, byUs],
        [9, byUs],
      ] as const) {
        const theirUs = seconds * SECOND + AHEAD + offset;
        assert.equal(line.offsetAt(seconds * SECOND), AHEAD + offset);
        // Times near the jump are doubtful, because the clock showed them twice or skipped them.
        const isNear = Math.abs(seconds - 3.5) <= 0.6;
        if (!isNear) assert.equal(line.toOurs(theirUs), seconds * SECOND);
        // The line before the jump has a single reading at 1 s, so the clock can have drifted since then.
        const driftUs = seconds < 3.5 ? (seconds - 1) * 500 : 0;
        const boundUs = line.boundAt(seconds * SECOND);
        assert.ok(Math.abs(boundUs - (50 + driftUs + (isNear ? jumpUs : 0))) < 0.01, `${boundUs} us at ${seconds} s`);
      }
      assert.deepEqual([line.jumpUs(), line.boundUs], [jumpUs, jumpUs + 50]);
      const [first, last] = [3 * SECOND - jumpUs, 4 * SECOND + jumpUs];
      assertEach([first - 1, first], (toUs) => line.jumpUs(0, toUs), [0, jumpUs]);
      assertEach([last, last + 1], (fromUs) => line.jumpUs(fromUs, 9 * SECOND), [jumpUs, 0]);
    });
  }

  it('a clock model finds a jump hidden by slow readings, from the readings before and after them', () => {
    const line = new ClockLine(false);
    for (const seconds of [1, 2]) line.add(reading(seconds, 0, 50));
    for (const seconds of [3, 4]) line.add(reading(seconds, 10_000, 20_000));
    assert.equal(line.jumpUs(), 0);
    line.add(reading(5, 10_000, 50));
    assert.ok(line.jumpUs() >= 10_000 && line.jumpUs() < 12_000, `${line.jumpUs()} us`);
    assert.equal(line.offsetAt(6 * SECOND), AHEAD + 10_000);
  });

  for (const [what, second, at, isNear] of [
    // The clock can have drifted by 500 µs since the last reading.
    ['a slow reading does not narrow it', [2, 0, 50 + 500], 1.5, true],
    ['a precise reading raises its earliest time', [2, 300, 300], 1.5, false],
    ['a precise reading lowers its latest time', [2, -300, 300], 1.5, false],
  ] as const) {
    it(`the possible time of a clock jump is narrowed by precise readings: ${what}`, () => {
      const line = add(new ClockLine(false), [1, 0], second, [3, 90_000]);
      assert.equal(line.jumpUs(at * SECOND, at * SECOND) > 0, isNear);
      assert.ok(line.jumpUs(2.5 * SECOND, 2.5 * SECOND) > 0);
    });
  }

  it('reports a clock jump if errors and drift allow no other explanation', () => {
    const jumps = (offsetUs: number) => {
      const line = add(new ClockLine(false), [1, 0, 50], [2, offsetUs, 50]);
      return line.jumpUs() > 0;
    };
    assertEach([600, -600, 601, -601], jumps, [false, false, true, true]);
  });

  it('a clock model follows several jumps', () => {
    const line = add(new ClockLine(false), [1, 0], [2, 0], [3, 80_000], [4, 80_000], [5, 0], [6, 0]);
    assertEach([1, 4, 6], (seconds) => line.offsetAt(seconds * SECOND) - AHEAD, [0, 80_000, 0]);
    assert.ok(line.jumpUs() > 160_000);
  });

  it('the clock of a process on the same kernel has no offset, unless its clock was changed', () => {
    const same = new ClockLine(true);
    same.add({ atUs: SECOND, offsetUs: 30, uncertaintyUs: 40 });
    assert.deepEqual([same.offsetAt(SECOND), same.boundUs, same.isOurs], [0, 0, true]);
    same.add({ atUs: SECOND, offsetUs: 1040, uncertaintyUs: 40 });
    assert.equal(same.isOurs, true);
    const moved = new ClockLine(true);
    moved.add(reading(1, 0, 40));
    assert.deepEqual([moved.offsetAt(SECOND), moved.boundUs, moved.isOurs], [AHEAD, 40, false]);
    same.add(reading(2, 0, 40));
    assert.equal(same.isOurs, false, 'it has been moved meanwhile');
  });

  it('a clock model has an infinite error bound before its first reading', () => {
    const line = new ClockLine(false);
    assert.deepEqual([line.boundUs, line.boundAt(1), line.worstAt(1)], Array(3).fill(Number.POSITIVE_INFINITY));
    assert.deepEqual([line.toOurs(7), line.toTheirs(7), line.isOurs], [7, 7, false]);
  });
});

it('a clock model extrapolates offsets only up to 20 s beyond its first and last reading', () => {
  const line = [reading(10, 0, 1), reading(12, 100, 1), reading(30, 200, 1)];
  const offsets = [0, 8, -10, -11, 11, 31, 48, 51].map((seconds) => clockOffsetAt(line, seconds * SECOND) - AHEAD);
  assert.deepEqual(offsets.map(Math.round), [-100, -100, -200, 0, 50, 206, 300, 200]);
});

it('the error bound of a time outside all readings includes the drift since the nearest one', () => {
  const line = new ClockLine(false);
  for (const seconds of [10, 12, 30]) line.add(reading(seconds, 0, 50));
  const driftsUs = [-11, -10, 8, 11, 30, 48, 51].map((seconds) => line.boundAt(seconds * SECOND) - 50);
  assert.deepEqual(driftsUs.map(Math.round), [10_500, 0, 0, 0, 0, 0, 10_500]);
});

it('a time converted to another clock and back is unchanged, despite drift', () => {
  const line = new ClockLine(false);
  for (let seconds = 5; seconds < 300; seconds += 10) line.add(reading(seconds, 450 * seconds, 50));
  assertEach([10, 150, 290], (seconds) => Math.round(line.toOurs(line.toTheirs(seconds * SECOND))), [
    10 * SECOND,
    150 * SECOND,
    290 * SECOND,
  ]);
});

describe('a clock that is read for ten minutes', () => {
  const MINUTES = 10;
  const driftUs: Record<string, (seconds: number) => number> = {
    'that is 50 millionths fast': (seconds) => 50 * seconds,
    'whose rate changes as it warms up': (seconds) => 50 * seconds + (30 * seconds ** 2) / 600,
    'that NTP speeds up and slows down': (seconds) => 2000 * Math.sin(seconds / 60),
    'that jumps by a second in the middle': (seconds) => 20 * seconds + (seconds < 300.2 ? 0 : SECOND),
    'that is 450 millionths fast, and jumps by a second': (seconds) => 450 * seconds + (seconds < 300.2 ? 0 : SECOND),
    'that falls back by a second in the middle': (seconds) => 20 * seconds - (seconds < 300.2 ? 0 : SECOND),
  };
  for (const [what, moreUs] of Object.entries(driftUs)) {
    it(`the model of a clock ${what} stays within its error bound for ten minutes`, () => {
      const draw = randomSource(7);
      const random = () => draw(1_000_000) / 1_000_000;
      const line = new ClockLine(false);
      for (let seconds = 0; seconds < MINUTES * 60; seconds++) {
        // Durations of both directions in microseconds. The worker is sometimes busy.
        const waysUs = [random(), random()].map((share) => 60 + 40 * share + (random() < 0.3 ? 20_000 * random() : 0));
        const [thereUs, reconnectUs] = waysUs as [number, number];
        const atUs = seconds * SECOND + (thereUs + reconnectUs) / 2;
        const asked = seconds + thereUs / SECOND;
        const offsetUs = AHEAD + moreUs(asked) + (thereUs - reconnectUs) / 2;
        line.add({ atUs, offsetUs, uncertaintyUs: (thereUs + reconnectUs) / 2 });
      }
      const errors: number[] = [];
      for (let seconds = 0; seconds < MINUTES * 60; seconds += 0.37) {
        const ourUs = seconds * SECOND;
        const converted = line.toOurs(ourUs + AHEAD + moreUs(seconds));
        const errorUs = Math.abs(converted - ourUs);
        assert.ok(
          errorUs <= line.boundAt(converted),
          `${errorUs} us off at ${seconds} s, ± ${line.boundAt(converted)}`,
        );
        // Ignores times near the jump. The last reading before it may have been slow, and no quicker reading follows.
        if (Math.abs(seconds - 300) > 10) errors.push(errorUs);
      }
      assert.ok(Math.max(...errors) < 150, `${Math.max(...errors)} us`);
      const quietUs = line.boundAt(100 * SECOND);
      assert.ok(quietUs < 400, `± ${quietUs} us`);
      assert.equal(line.jumpUs() > 0, what.includes('second'));
    });
  }
});
