import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ClockLine } from '../../../protocol/clock-line.ts';
import { withInstants } from '../../../protocol/instants.ts';

const SECOND = 1_000_000;
const AHEAD = 400_000 * SECOND;
const reading = (seconds: number, offsetUs: number, uncertaintyUs: number) => {
  return { atUs: seconds * SECOND, offsetUs: AHEAD + offsetUs, uncertaintyUs };
};

describe('the line of another clock', () => {
  it('keeps the quickest reading of each ten seconds, and runs straight between them', () => {
    const line = new ClockLine(false);
    for (const one of [reading(1, 900, 500), reading(5, 100, 50), reading(8, 700, 400)]) line.add(one);
    line.add(reading(15, 300, 60));
    assert.equal(line.offsetAt(5 * SECOND), AHEAD + 100);
    assert.equal(line.offsetAt(10 * SECOND), AHEAD + 200);
    assert.deepEqual([line.offsetAt(0), line.offsetAt(99 * SECOND)], [AHEAD + 100, AHEAD + 300]);
    assert.equal(Math.round(line.toOurs(line.toTheirs(12 * SECOND))), 12 * SECOND);
    assert.equal(line.boundUs, 60);
  });

  it('is known less well by as much as it bends: a clock that jumps shows', () => {
    const line = new ClockLine(false);
    for (const [seconds, offset] of [
      [5, 0],
      [15, 0],
      [25, 80_000],
      [35, 80_000],
    ] as const) {
      line.add(reading(seconds, offset, 50));
    }
    assert.equal(line.boundUs, 50 + 40_000);
  });

  it('is our own on the same kernel, unless somebody moved it', () => {
    const same = new ClockLine(true);
    same.add({ atUs: SECOND, offsetUs: 30, uncertaintyUs: 40 });
    assert.deepEqual([same.offsetAt(SECOND), same.boundUs], [0, 0]);
    const moved = new ClockLine(true);
    moved.add(reading(1, 0, 40));
    assert.deepEqual([moved.offsetAt(SECOND), moved.boundUs], [AHEAD, 40]);
  });

  it('is unknown before its first reading', () => {
    assert.equal(new ClockLine(false).boundUs, Number.POSITIVE_INFINITY);
  });
});

it('of a message, the points in time are converted, at any depth, and nothing else', () => {
  const message = {
    atUs: 3,
    sentAtUs: 5,
    latUs: 1,
    firstUs: 5,
    list: [{ latencyFromAtUs: null }, { startedAtUs: 7, counts: [7] }],
  };
  assert.deepEqual(
    withInstants(message, (atUs) => atUs + 100),
    {
      atUs: 103,
      sentAtUs: 105,
      latUs: 1,
      firstUs: 5,
      list: [{ latencyFromAtUs: null }, { startedAtUs: 107, counts: [7] }],
    },
  );
});
