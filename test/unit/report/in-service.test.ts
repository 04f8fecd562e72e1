import assert from 'node:assert/strict';
import { it } from 'node:test';
import { inServicePoints } from '../../../report/figures/in-service.ts';

const at = (...bytes: number[]) => bytes.map((workerRss, index) => ({ connections: index * 100, workerRss }));
const points = (atRest: number[], before: number[], peak?: number) =>
  inServicePoints(
    {
      plateaus: at(...atRest),
      inService: { plateaus: at(...before), peakBytes: peak === undefined ? {} : { workerRss: peak } },
    },
    'workerRss',
  ).map(({ y }) => y);

it('memory in service is what was read before the collections, where nothing was higher later', () => {
  assert.deepEqual(points([100, 150, 200], [110, 175, 240]), [110, 175, 240]);
  assert.deepEqual(points([100, 150, 200], [110, 175, 240], 190), [110, 175, 240]);
});

it('what the peak adds to the memory at rest is in proportion to the connections', () => {
  // 200 more at 200 connections are 100 more at 100.
  assert.deepEqual(points([100, 150, 200], [100, 160, 240], 400), [100, 250, 400]);
  // A collection before the peak left more garbage at 100 than that.
  assert.deepEqual(points([100, 150, 200], [100, 260, 240], 400), [100, 260, 400]);
});

it('of a baseline alone, or of a layer that nobody reads, nothing is in proportion', () => {
  assert.deepEqual(points([100], [110], 400), [110]);
  assert.deepEqual(
    inServicePoints({ plateaus: at(1, 2), inService: { plateaus: [], peakBytes: {} } }, 'workerRss'),
    [],
  );
});
