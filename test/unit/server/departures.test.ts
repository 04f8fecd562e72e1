import assert from 'node:assert/strict';
import { it } from 'node:test';
import { monotonicUs } from '../../../protocol/clock/clock.ts';
import { Departures } from '../../../server/contract/departures.ts';

it('broadcasts leave in the order of their times, also of an event loop that is late', async () => {
  const departures = new Departures();
  const startUs = monotonicUs() + 15_000;
  // Several in each millisecond, asked for in another order.
  const times = Array.from({ length: 40 }, (_, index) => startUs + ((index * 7) % 40) * 300);
  const left: number[] = [];
  const all = times.map(async (atUs) => {
    await departures.at(atUs);
    assert.ok(monotonicUs() >= atUs, 'not before its time');
    left.push(atUs);
  });
  while (monotonicUs() < startUs + 15_000); // All of them are due when the event loop goes on.
  await Promise.all(all);
  assert.deepEqual(
    left,
    times.toSorted((a, b) => a - b),
  );
});

it('a broadcast that is due does not wait for those that are not, nor for a time by a wrong clock', async () => {
  const departures = new Departures();
  const left: string[] = [];
  const at = (what: string, atUs: number) => departures.at(atUs).then(() => left.push(what));
  const nowUs = monotonicUs();
  const wrong = at('wrong clock', nowUs + 3.6e9);
  const soon = at('soon', nowUs + 20_000);
  await at('late', nowUs - 5000);
  assert.deepEqual(left, ['late']);
  await soon;
  assert.deepEqual(left, ['late', 'soon']);
  await wrong;
});
