import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { memoryFigures, widenForGarbage } from '../../../plugin/result/memory/assemble-memory.ts';
import { LAYERS } from '../../../plugin/samplers/index.ts';
import { measurements } from '../../helpers/measurements.ts';

const KB = 1024;
const MB = KB * KB;
/** True bytes per connection of the measured server, from forced collections. */
const TRUE_BYTES = 13.1 * KB;

const line = (low: number, high: number) => ({
  ...{ slope: ((low + high) / 2) * KB, low95: low * KB, high95: high * KB, r2: 1 },
});
const upTo = (connections: number) => [0, connections / 2, connections].map((x) => ({ x, y: 0 }));

describe('the interval of memory with uncollected garbage', () => {
  for (const [low, high, connections] of [
    [0, 2.4, 100],
    [1.2, 8.9, 200],
    [20, 36, 400],
  ] as const) {
    it(`the interval of memory contains the true value at noise of ${low} to ${high} KB at ${connections} connections`, () => {
      const { low95, high95 } = widenForGarbage(line(low, high), upTo(connections), 1);
      assert.ok((low95 ?? 0) <= TRUE_BYTES && TRUE_BYTES <= (high95 ?? 0), `${low95} to ${high95}`);
    });
  }

  it('the interval of memory with uncollected garbage is that of the noise if connections are many', () => {
    const { low95, high95 } = widenForGarbage(line(12, 14), upTo(100_000), 1);
    assert.deepEqual([Math.round((low95 ?? 0) / KB), Math.round((high95 ?? 0) / KB)], [12, 14]);
  });

  it('the interval of memory is widened for uncollected garbage in each process', () => {
    const { high95 } = widenForGarbage(line(12, 14), upTo(4096), 4);
    assert.equal(high95, 14 * KB + (4 * 4 * MB) / 4096);
  });

  it('the interval of memory is wider for RSS of the workers, but not for RSS of the proxy', () => {
    const plateaus = [0, 100, 200].map((connections) => ({
      connections,
      layers: {
        workerRss: 80 * MB + connections * 2000 + (connections % 200),
        nginxRss: 9 * MB + connections * 2000 + (connections % 200),
      },
    }));
    const widths = [true, false].map((control) => {
      const measured = measurements({ control, plateaus, peakConnections: 200 });
      const { workerRss, nginxRss } = memoryFigures(measured, { layers: LAYERS, samples: [] }).perConnectionBytes;
      return [workerRss?.high95 ?? 0, nginxRss?.high95 ?? 0];
    });
    assert.ok((widths[1]?.[0] ?? 0) - (widths[0]?.[0] ?? 0) > 20 * KB);
    assert.equal(widths[1]?.[1], widths[0]?.[1]);
  });
});
