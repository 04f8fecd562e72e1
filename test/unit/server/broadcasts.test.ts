import assert from 'node:assert/strict';
import { it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { textPayload } from '../../../server/contract/contract-payload.ts';
import { RoomDepartures } from '../../../server/contract/departures.ts';

it('a worker sends broadcasts in the order of their times, even if its event loop is late', async () => {
  const departures = new RoomDepartures();
  // The start is 300 ms ahead, so that nothing is due before all are requested, even if the process pauses.
  const startUs = monotonicUs() + 300_000;
  // Several broadcasts are due in each millisecond, and they are requested in another order.
  const times = Array.from({ length: 40 }, (_, index) => startUs + ((index * 7) % 40) * 300);
  const left: number[] = [];
  const all = times.map(async (atUs) => {
    await departures.at(atUs);
    assert.ok(monotonicUs() >= atUs, 'not before its time');
    left.push(atUs);
  });
  while (monotonicUs() < startUs + 15_000); // Blocks the event loop until all broadcasts are due.
  await Promise.all(all);
  const inOrder = times.toSorted((a, b) => a - b);
  assert.deepEqual(left, inOrder);
});

it('a due broadcast does not wait for later broadcasts, even if their times come from a wrong clock', async () => {
  const departures = new RoomDepartures();
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

it('a broadcast payload has the requested size, also on the wire', () => {
  for (const size of [0, 1, 1000, 65_536]) {
    assert.equal(textPayload(size).length, size);
    assert.equal(Buffer.byteLength(JSON.stringify(textPayload(size))), size + 2);
  }
});

it('a broadcast payload varies, so that compression gains little', () => {
  assert.ok(gzipSync(textPayload(1000)).length > 700);
});

it('a broadcast payload is the same text in every call with the same size', () => {
  const first = textPayload(500);
  for (let size = 1; size < 40; size++) textPayload(size);
  assert.equal(textPayload(500), first);
});
