/** Invented sets of runs for comparisons. Each differs from a perfect run as its name says. */
import assert from 'node:assert/strict';
import type { Result } from '../../protocol/result/result.ts';
import { type ComparedFigure, compareSets, type RunSet } from '../../report/compare/compare.ts';
import { perfectResult } from './results.ts';

export const ONE_WAY = 'latency.oneWayMs.p50';
export const WORKER = 'memory.perConnectionBytes.workerPss.slope';

export function run(change: (result: Result) => unknown = () => {}): Result {
  const result = perfectResult();
  change(result);
  return result;
}

export const setOf = (...results: Result[]): RunSet => ({ name: '', results });

export const latencies = (...p50s: number[]): RunSet =>
  setOf(
    ...p50s.map((p50) =>
      run(({ latency }) => {
        if (latency.oneWayMs) latency.oneWayMs.p50 = p50;
        latency.intervals = null;
      }),
    ),
  );

/** Returns a single run. Its latencies have an interval from its broadcasts. */
export const latencyOfOne = (p50: number): RunSet => {
  const set = latencies(p50);
  const interval = { p50: { low95: p50 * 0.9, high95: p50 * 1.1 }, p99: null };
  for (const { latency } of set.results) latency.intervals = { oneWayMs: interval, completionMs: interval };
  return set;
};

/** Returns a single run whose workers use `slope` ± `halfWidth` bytes per connection. */
export const slopeRun = (slope: number, halfWidth: number): RunSet =>
  setOf(
    run(({ memory }) => {
      const line = memory.perConnectionBytes.workerPss;
      Object.assign(line ?? {}, { slope, low95: slope - halfWidth, high95: slope + halfWidth });
    }),
  );

export const rates = (...perSec: number[]): RunSet =>
  setOf(...perSec.map((achieved) => run(({ connections }) => (connections.achievedRatePerSec = achieved))));

export const failed = (...counts: number[]): RunSet =>
  setOf(...counts.map((count) => run(({ connections }) => Object.assign(connections, { failed: count }))));

export const held = (...counts: number[]): RunSet =>
  setOf(...counts.map((count) => run(({ connections }) => Object.assign(connections, { held: count }))));

export const lost = (missing: number): RunSet =>
  setOf(run(({ delivery }) => delivery && Object.assign(delivery, { received: delivery.expected - missing })));

export const invalid = (set: RunSet): RunSet => {
  for (const { verdict } of set.results) verdict.status = 'INVALID';
  return set;
};

export function figure(sets: RunSet[], path: string): ComparedFigure {
  const found = compareSets(sets).figures.find((entry) => entry.path === path);
  assert.ok(found, path);
  return found;
}

export const answer = (a: RunSet, b: RunSet, path: string) => figure([a, b], path).differences[0]?.answer;
