import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memorySum as sumOf } from '../../../plugin/result/memory/memory-sum.ts';
import { LAYERS } from '../../../plugin/samplers/layers/index.ts';
import type { Slope } from '../../../protocol/result/memory.ts';

const memorySum = (slopes: Record<string, Slope>) => sumOf(slopes, LAYERS);
const slope = (bytes: number) => ({ slope: bytes, low95: bytes - 10, high95: bytes + 10, r2: 1, naive: bytes });

test('every byte is added once: PSS and not RSS, and no share of another layer', () => {
  const sum = memorySum({
    workerRss: slope(12_000),
    workerPss: slope(10_000),
    workerHeapUsed: slope(8000),
    nginxPss: slope(14_000),
    kernelSlab: slope(15_000),
    redisUsedMemory: slope(3),
    redisPss: slope(1),
    systemUsed: slope(36_000),
    systemHeld: slope(40_001),
  });
  assert.deepEqual(sum, {
    parts: ['workerPss', 'nginxPss', 'redisPss', 'kernelSlab'],
    partsPerConnectionBytes: 39_001,
    systemPerConnectionBytes: 40_001,
    systemLow95: 39_991,
    systemHigh95: 40_011,
    unexplainedPerConnectionBytes: 1000,
    unexplainedShare: 1000 / 40_001,
  });
});

test('without the whole, or without the workers, there is nothing to compare', () => {
  assert.equal(memorySum({ workerPss: slope(1) }), null);
  assert.equal(memorySum({ systemHeld: slope(1) }), null);
});

test('a machine that lost nothing has no share that is unexplained', () => {
  assert.equal(memorySum({ workerPss: slope(5), systemHeld: slope(-5) })?.unexplainedShare, null);
});
