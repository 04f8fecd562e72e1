import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventCounter, readEventCounts } from '../../../plugin/fleet/process/counts/event-counts.ts';
import { eventCountFigures } from '../../../plugin/result/delivery/event-counts.ts';
import { measurements } from '../../helpers/measurements.ts';

const NAMES = ['price', 'cursor'];
const newCounters = (count: number) => Array.from({ length: count }, () => new EventCounter(NAMES));

test('counts copies between two readings, for connections that stayed open', () => {
  const [first, second, dropped, late] = newCounters(4) as EventCounter[];
  const all = [first, second, dropped] as EventCounter[];
  first?.count('price');
  assert.deepEqual(
    readEventCounts(NAMES, all).map(({ byCount }) => byCount),
    [[], []],
  );
  for (const counter of [...all, late]) for (let copy = 0; copy < 3; copy++) counter?.count('price');
  second?.count('price');
  second?.count('other');
  dropped?.interrupt();
  assert.deepEqual(readEventCounts(NAMES, [...all, late as EventCounter]), [
    {
      event: 'price',
      byCount: [
        [3, 1],
        [4, 1],
      ],
    },
    { event: 'cursor', byCount: [[0, 2]] },
  ]);
});

test('compares connections with the maximum, allowing for copies in flight', () => {
  const of = (...byCount: [number, number][]) => ({ event: 'price', byCount });
  const figures = (seconds: number, ...counts: ReturnType<typeof of>[]) =>
    eventCountFigures(measurements({ eventCounts: { seconds, counts } }))[0];
  const even = figures(10, of([100, 40]), of([100, 9], [98, 1]));
  assert.deepEqual(even, {
    ...{ event: 'price', seconds: 10, most: 100, fewest: 98, receivers: 50, copies: 4998 },
    ...{ missingAtLeast: 0, missingAtMost: 2 },
  });
  const halved = figures(10, of([100, 5]), of([50, 5]));
  assert.deepEqual([halved?.missingAtLeast, halved?.missingAtMost], [5 * 44, 250]);
  assert.equal(figures(10, of([0, 5]))?.most, 0);
});
