/** Broadcasts of the wire contract: when they leave, and what they carry. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { payload } from '../../../server/contract/contract-payload.ts';
import { Departures } from '../../../server/contract/departures.ts';

it('broadcasts leave in the order of their times, also of an event loop that is late', async () => {
  const departures = new Departures();
  // Nothing is due before all are asked for, even if the process pauses meanwhile.
  const startUs = monotonicUs() + 300_000;
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
  const inOrder = times.toSorted((a, b) => a - b);
  assert.deepEqual(left, inOrder);
});

it('a due broadcast does not wait for later ones, nor for a time of a wrong clock', async () => {
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

it('has the size asked for, on the wire too', () => {
  for (const size of [0, 1, 1000, 65_536]) {
    assert.equal(payload(size).length, size);
    assert.equal(Buffer.byteLength(JSON.stringify(payload(size))), size + 2);
  }
});

it('varies, so that compression gains little', () => {
  assert.ok(gzipSync(payload(1000)).length > 700);
});

it('is the same text in every call with the same size, also after other sizes', () => {
  const first = payload(500);
  for (let size = 1; size < 40; size++) payload(size);
  assert.equal(payload(500), first);
});
