import assert from 'node:assert/strict';
import { it } from 'node:test';
import { mergeRows, type SampleRow } from '../../../plugin/samplers/sample-row.ts';

it('two rows become one with the highest memory and the mean of the CPU', () => {
  const row = (t: number, connections: number, layers: object) => ({ t, connections, ...layers }) as SampleRow;
  const older = row(1, 20, { worker: { rssBytes: 500, derivedPssBytes: 450, cpuPercent: 10 }, nginx: { rssBytes: 7 } });
  const newer = row(2, 10, { worker: { rssBytes: 400, pssBytes: 300, cpuPercent: 30 }, redis: { rssBytes: 8 } });
  assert.deepEqual(mergeRows(older, newer), {
    t: 2,
    connections: 20,
    worker: { rssBytes: 500, derivedPssBytes: 450, cpuPercent: 20 },
    nginx: { rssBytes: 7 },
    redis: { rssBytes: 8 },
  });
  const first = row(0, 0, { worker: { rssBytes: 1, pssBytes: 900 } });
  assert.deepEqual(mergeRows(first, older).worker, { rssBytes: 500, pssBytes: 900, cpuPercent: 10 });
});
