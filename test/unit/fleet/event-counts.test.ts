import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventCounter, readEventCounts } from '../../../plugin/fleet/process/counts/event-counts.ts';
import { eventCountFigures } from '../../../plugin/result/delivery/assemble-delivery.ts';
import type { Measurements } from '../../../plugin/run/measurements/measurements.ts';
import { measurements } from '../../helpers/measurements.ts';

const EVENTS = [{ event: 'price', from: 'bid' }, { event: 'cursor' }];
const newCounters = (count: number) => Array.from({ length: count }, () => new EventCounter(EVENTS));

test('counts copies of an event between two readings, for connections that stayed open', () => {
  const [first, second, dropped, late] = newCounters(4) as EventCounter[];
  const all = [first, second, dropped] as EventCounter[];
  first?.count('price');
  assert.deepEqual(
    readEventCounts(EVENTS, all).map(({ byCount }) => byCount),
    [[], []],
  );
  for (const counter of [...all, late]) for (let copy = 0; copy < 3; copy++) counter?.count('price');
  second?.count('price');
  second?.count('other');
  for (const counter of [second, second, dropped, late]) counter?.sent('bid');
  dropped?.interrupt();
  const [price, cursor] = readEventCounts(EVENTS, [...all, late as EventCounter]);
  assert.deepEqual(price?.byCount, [
    [3, 0, 1],
    [4, 2, 1],
  ]);
  assert.deepEqual([price?.sent, cursor?.sent, cursor?.byCount], [4, 0, [[0, 0, 2]]]);
});

const of = (...byCount: [copies: number, connections: number][]) => ({
  ...{ event: 'price', sent: 0 },
  byCount: byCount.map(([copies, connections]): [number, number, number] => [copies, 0, connections]),
});
type Counted = NonNullable<Measurements['eventCounts']>;
const figuresOf = (counted: Partial<Counted>) =>
  eventCountFigures(
    measurements({ eventCounts: { ...{ seconds: 10, counts: [], counters: {}, fromUsers: [] }, ...counted } }),
  )[0];

test('estimates missing copies from the connection with the most copies, less copies in flight', () => {
  const figures = (seconds: number, ...counts: ReturnType<typeof of>[]) => figuresOf({ seconds, counts });
  const even = figures(10, of([100, 40]), of([100, 9], [98, 1]));
  assert.deepEqual(even, {
    ...{ event: 'price', seconds: 10, sent: null, most: 100, fewest: 98, receivers: 50, copies: 4998 },
    ...{ missingAtLeast: 0, missingAtMost: 2 },
  });
  const halved = figures(10, of([100, 5]), of([50, 5]));
  assert.deepEqual([halved?.missingAtLeast, halved?.missingAtMost], [5 * 44, 250]);
  assert.equal(figures(10, of([0, 5]))?.most, 0);
});

test('counts messages that reached no connection as missing if the number of sent messages is known', () => {
  // Returns counts of ten users with ten messages each.
  const sent = (...byCount: [number, number, number][]) => ({ event: 'price', sent: 100, byCount });
  const fromUsers = (counts: ReturnType<typeof sent>) => figuresOf({ counts: [counts], fromUsers: ['price'] });
  const missing = (figures: ReturnType<typeof fromUsers>) => [figures?.missingAtLeast, figures?.missingAtMost];
  assert.deepEqual(missing(fromUsers(sent([90, 10, 10]))), [0, 0], 'to all others');
  assert.deepEqual(missing(fromUsers(sent([100, 10, 10]))), [0, 0], 'to all');
  assert.deepEqual(missing(fromUsers(sent([45, 10, 10]))), [10 * 39, 450], 'every second one to others');
  assert.deepEqual(missing(fromUsers(sent([100, 10, 5], [50, 10, 5]))), [5 * 44, 250], 'half of it to some');
  const byServer = (price: number | null) => figuresOf({ counts: [of([50, 10])], counters: { price } });
  assert.deepEqual([byServer(100)?.sent, ...missing(byServer(100))], [100, 10 * 44, 500]);
  assert.deepEqual([byServer(null)?.sent, ...missing(byServer(null))], [null, 0, 0]);
});
