import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { MemorySlope } from '../../../protocol/result/memory-schema.ts';
import { addNativeMemory } from '../../../report/figures/native-memory.ts';

const KB = 1024;

/** Returns a slope. The arguments are in KB per connection. */
const line = (slope: number, low: number, high: number, doubt?: MemorySlope['doubt']): MemorySlope => ({
  ...{ slope: slope * KB, low95: low * KB, high95: high * KB, r2: 1, naive: 0 },
  ...(doubt !== undefined && { doubt }),
});

/** @returns the figure, its interval and the native memory, in KB */
function combined(kept: MemorySlope, workerRss: MemorySlope | undefined, connections = 1000, malloc = {}): number[] {
  const { slope, native } = addNativeMemory(kept, { ...(workerRss && { workerRss }), ...malloc }, connections);
  return [slope.slope, slope.low95 ?? 0, slope.high95 ?? 0, native].map((bytes) => Math.round((10 * bytes) / KB) / 10);
}

describe('memory per connection from V8 and RSS', () => {
  it('memory per connection includes 4 KB of malloc per connection that V8 does not count', () => {
    const [bytes = 0, low = 0, high = 0, native] = combined(line(12.7, 11.7, 13.8), line(16.2, 15.1, 17.2));
    assert.ok(low <= 16.5 && 16.5 <= high, `${low} to ${high}`);
    assert.ok(low <= 16.2 && 16.2 <= high, 'contains what RSS shows');
    assert.deepEqual([bytes, native], [16.1, 3.4]);
  });

  it('memory per connection is the slope of RSS if the interval of that slope is narrow', () => {
    assert.deepEqual(combined(line(11.6, 11.5, 11.7), line(17.2, 17, 17.4), 4000), [17.2, 15.5, 17.4, 5.6]);
  });

  it('memory per connection is V8’s own count of memory if noise hides the rise of RSS', () => {
    assert.deepEqual(combined(line(12.3, 12.2, 12.4), line(14, 8, 20)), [12.3, 12.2, 20, 0]);
  });

  it('memory per connection has V8’s count as its lower bound if RSS exceeds it by a one-time allocation', () => {
    assert.deepEqual(combined(line(12.3, 12.2, 12.4), line(13.8, 13.7, 13.9)).slice(1, 3), [12.2, 13.9]);
  });

  it('memory per connection is V8’s own count of memory if connections reuse free pages', () => {
    assert.deepEqual(combined(line(12.3, 12.2, 12.4), line(6, 5, 7)), [12.3, 12.2, 12.4, 0]);
  });

  it('adds the heap of malloc to V8’s count without external memory, and without the noise of RSS', () => {
    const malloc = { workerMalloc: line(5.1, 4.1, 6.1), workerExternal: line(0.1, 0.1, 0.1) };
    assert.deepEqual(combined(line(15.8, 15, 16.6), line(19, 12, 26), 400, malloc), [20.8, 19.5, 22.1, 5]);
    const two = (slope: number) => ({ ...line(slope, 0, 0), low95: null, high95: null });
    assert.deepEqual(combined(two(15.8), two(30), 400, malloc), [20.8, 0, 0, 5]);
    const large = { workerMalloc: line(1, 0.5, 1.5), workerExternal: line(200, 199, 201) };
    assert.deepEqual(combined(line(213, 212, 214), undefined, 400, large), [213, 212, 214.1, 0]);
  });

  it('memory per connection includes memory of other threads if RSS proves it', () => {
    const malloc = { workerMalloc: line(1, 0, 2), workerExternal: line(0, 0, 0) };
    assert.deepEqual(combined(line(16, 15.5, 16.5), line(40, 38, 42), 1000, malloc), [40, 34.9, 42, 24]);
  });

  for (const pages of [undefined, line(30, 29, 31, 'freed'), { ...line(30, 0, 0), low95: null, high95: null }]) {
    it(`memory per connection is V8’s own count of memory if RSS has ${pages?.doubt ?? (pages ? 'no interval' : 'no slope')}`, () => {
      assert.deepEqual(combined(line(12.3, 12.2, 12.4), pages), [12.3, 12.2, 12.4, 0]);
    });
  }
});
