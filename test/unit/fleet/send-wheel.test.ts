import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SendWheel } from '../../../plugin/fleet/process/messages/send-wheel.ts';

const SECOND_US = 1_000_000;

function handedOut(wheel: SendWheel<{ slot: number; name: string }>, nowUs: number): [string, number][] {
  const out: [string, number][] = [];
  wheel.advance(nowUs, ({ name }, dueAtUs) => out.push([name, dueAtUs]));
  return out;
}

test('each connection is due to send once in each period, even if the check for due connections is late', () => {
  const wheel = new SendWheel<{ slot: number; name: string }>(SECOND_US, 0);
  wheel.add({ slot: 100, name: 'a' });
  wheel.add({ slot: 700, name: 'b' });
  assert.equal(wheel.nextDueAtUs(), 100_000);
  assert.deepEqual(handedOut(wheel, 99_999), []);
  assert.deepEqual(handedOut(wheel, 130_000), [['a', 100_000]]);
  assert.equal(wheel.nextDueAtUs(), 700_000);
  assert.deepEqual(handedOut(wheel, 2_100_000).map(String), ['b,700000', 'a,1100000', 'b,1700000', 'a,2100000']);
});

test('the send schedule follows the clock, so processes that start at different times share it', () => {
  const [early, late] = [new SendWheel(10 * SECOND_US, 5), new SendWheel(10 * SECOND_US, 123_456_789)];
  for (const wheel of [early, late]) wheel.add({ slot: 4000 });
  assert.equal(early.nextDueAtUs(), 4 * SECOND_US);
  assert.equal(late.nextDueAtUs(), 124 * SECOND_US);
});

test('the first connection on an empty send wheel is not due for times before it was added', () => {
  const wheel = new SendWheel<{ slot: number; name: string }>(SECOND_US, 0);
  handedOut(wheel, 50 * SECOND_US);
  wheel.add({ slot: 5, name: 'a' });
  assert.deepEqual(handedOut(wheel, 50 * SECOND_US + 5000), [['a', 50 * SECOND_US + 5000]]);
});

for (const seconds of [0.01, 0.0105, 1, 7.654321, 10, 3600]) {
  test(`finds the connections that are due to send in any interval: a period of ${seconds} s`, () => {
    const periodUs = Math.round(seconds * 1e6);
    const fromUs = 987_654_321_987;
    const wheel = new SendWheel<{ slot: number; name: string }>(periodUs, fromUs);
    const turns = Array.from({ length: 50 }, (_, index) => ({ slot: wheel.slotOf(index), name: String(index) }));
    for (const turn of turns) wheel.add(turn);
    const partUs = (part: number) => fromUs + Math.floor((part * periodUs) / 6.7);
    handedOut(wheel, fromUs);
    for (let part = 1; part <= 20; part++) {
      const due = turns.reduce((sum, turn) => sum + wheel.dueBetween(turn, partUs(part - 1), partUs(part)), 0);
      assert.equal(handedOut(wheel, partUs(part)).length, due, `part ${part}`);
    }
  });
}

test('the send times of any number of connections are spread evenly over the period', () => {
  const wheel = new SendWheel(10 * SECOND_US, 0);
  for (const count of [7, 100, 1000, 2345]) {
    const slots = Array.from({ length: count }, (_, index) => wheel.slotOf(index)).sort((a, b) => a - b);
    const gaps = slots.map((slot, index) => (slots[index + 1] ?? (slots[0] as number) + 10_000) - slot);
    assert.ok(Math.max(...gaps) <= (2.7 * 10_000) / count + 1, `${count}: the longest gap is ${Math.max(...gaps)}`);
  }
});
