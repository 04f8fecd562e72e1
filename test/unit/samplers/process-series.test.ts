import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ProcessReading } from '../../../plugin/samplers/processes/proc.ts';
import { ProcessSeries } from '../../../plugin/samplers/processes/series.ts';

const reading = (rssBytes: number, cpuUs: number): ProcessReading => ({ rssBytes, cpuUs, startedAtUs: 0 });

describe('ProcessSeries', () => {
  it('has the memory of each process, and its CPU since the value before', () => {
    const series = new ProcessSeries();
    series.add(
      0,
      [1, 2],
      new Map([
        [1, reading(100, 5e6)],
        [2, reading(50, 0)],
        [9, reading(1, 1)],
      ]),
    );
    series.add(2, [1, 2], new Map([[1, reading(110, 6e6)]]));
    assert.deepEqual(series.read(), [
      { pid: 1, t: [0, 2], rssBytes: [100, 110], cpuPercent: [null, 50] },
      { pid: 2, t: [0], rssBytes: [50], cpuPercent: [null] },
    ]);
  });

  it('keeps the highest memory of long runs, and all of the CPU time', () => {
    const series = new ProcessSeries();
    for (let t = 0; t < 1000; t++) series.add(t, [1], new Map([[1, reading(t === 500 ? 9999 : 1, t * 250_000)]]));
    const [{ t, rssBytes, cpuPercent } = { t: [], rssBytes: [], cpuPercent: [] }] = series.read();
    assert.ok(t.length <= 201, `${t.length} rows`);
    assert.equal(Math.max(...rssBytes), 9999);
    assert.deepEqual([...new Set(cpuPercent)], [null, 25]);
  });
});
