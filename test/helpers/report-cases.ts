/** Cases of a result, and what stands in its report, or does not. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Fault } from '../../protocol/result/fault.ts';
import type { Result } from '../../protocol/result/result.ts';
import { plannedFault } from './planned-fault.ts';
import { perfectResult } from './results.ts';

/** A change of a perfect run, or a run of another kind; what stands in its report, and what does not. */
type Case = [name: string, of: ((result: Result) => unknown) | Result, says: RegExp[], not?: RegExp];

export function check(textOf: (result: Result) => string, cases: Case[]): void {
  for (const [name, of, says, not] of cases) {
    it(name, () => {
      const result = typeof of === 'function' ? perfectResult() : of;
      if (typeof of === 'function') of(result);
      const text = textOf(result);
      for (const pattern of says) assert.match(text, pattern);
      if (not) assert.doesNotMatch(text, not);
      assert.doesNotMatch(text, /NaN|undefined|\bnull\b|Infinity|\[object/);
    });
  }
}

const WHY = 'no control port';

/** A server that nobody can ask. */
export function outside(): Result {
  const result = perfectResult();
  const { latency, memory, environment } = result;
  return {
    ...result,
    absent: { memory: WHY, cpu: WHY, delivery: WHY, latency: WHY, roundTrip: WHY },
    delivery: null,
    environment: { ...environment, server: null },
    latency: { ...latency, oneWayMs: null, localMs: null, crossWorkerMs: null, completionMs: null, sendDelayMs: null },
    memory: { ...memory, inService: null, perConnectionBytes: {}, peakBytes: {}, plateaus: [{ connections: 0 }] },
    capacity: { memoryLimited: null, pings: null, limits: [], unknown: [], lowest: null },
    stages: ['ramp', 'plateau', 'hold', 'disconnect'].map((name, index) => ({ name, t: 10 * index + 1 })),
  };
}

export function stormy(changes: Partial<Fault> = {}): Result {
  return { ...perfectResult(), fault: plannedFault(changes) };
}
