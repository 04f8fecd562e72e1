import assert from 'node:assert/strict';
import { it } from 'node:test';
import { LiveHistory } from '../../../plugin/live/live-server.ts';
import { liveFigures } from '../../helpers/live-figures.ts';

it('the live history shows the PSS of a layer, or its RSS if the PSS is unknown', () => {
  const { memoryBytes } = new LiveHistory().add(liveFigures(0));
  assert.deepEqual(memoryBytes, { worker: 100 * 1024 * 1024, nginx: 30 * 1024 * 1024 });
});

it('the live history gets coarser in a long run, and keeps its start and its end', () => {
  const history = new LiveHistory();
  for (let seconds = 0; seconds < 10_000; seconds++) history.add(liveFigures(0, { seconds }));
  assert.ok(history.points.length <= 1800, String(history.points.length));
  assert.equal(history.points[0]?.seconds, 0);
  assert.ok((history.points.at(-1)?.seconds ?? 0) > 9990);
});
