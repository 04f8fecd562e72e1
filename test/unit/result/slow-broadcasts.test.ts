import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Measurements } from '../../../plugin/run/measurements/measurements.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { frozenBroadcast } from '../../helpers/measurements.ts';
import { summaryOf } from '../../helpers/message-figures.ts';
import { perfectBatch } from '../../helpers/results.ts';
import { assertNames, type Change, verdictOf } from '../../helpers/verdict.ts';

const EVERY_SECONDS = 0.3;

/**
 * @param timesMs times from each broadcast to its first and last of four receivers
 * @param servers number of server processes
 */
function judged(timesMs: [first: number, last: number][], servers = 1, change: Change = () => {}) {
  const { findings } = verdictOf((result: Result, measured: Measurements) => {
    if (!result.delivery) return;
    result.delivery.batches = timesMs.map(([firstMs, lastMs], index) => ({
      ...perfectBatch(index + 1, 4),
      ...{ t: EVERY_SECONDS * index, firstMs, p50Ms: firstMs, p99Ms: null, lastMs },
    }));
    measured.frozen = timesMs.map(([first, last], index) =>
      frozenBroadcast(
        index + 1,
        [first, first, last, last].map((ms) => 1000 * ms),
      ),
    );
    for (const loop of result.generator) loop.delayMaxMs = 5;
    const one = { layer: 'worker', command: 'node', ports: [], role: 'unknown' as const, holds: null };
    const list = Array.from({ length: servers }, (_, index) => ({ ...one, pid: index + 10 }));
    const redis = { ...one, layer: 'redis', pid: 99, holds: false };
    result.processes = { port: 3000, unseen: null, measured: [...list, redis], omitted: 0, notCounted: [] };
    measured.workersAtStart = measured.workersAtEnd = [];
    change(result, measured);
  });
  return findings.find(({ code }) => code === 'BROADCASTS_DELAYED');
}

const usual = (count: number) => Array.from({ length: count }, (): [number, number] => [2, 4]);

describe('broadcasts that took longer than the rest', () => {
  it('counts slow broadcasts that were late for every connection', () => {
    const found = judged([...usual(4), [2001, 2003], ...usual(5), [2000, 2004], ...usual(4)]);
    assert.equal(
      found?.message,
      '2 of 15 broadcasts took 2.0 s to reach all connections; the others took 4 ms (median)',
    );
    assert.equal(found?.about, 'application');
  });

  it('reports slow broadcasts as a pause of some connections if their delayed copies arrive together', () => {
    const paused = [4000, 3700, 3400].map((last): [number, number] => [2, last]);
    const found = judged([...usual(4), ...paused, ...usual(6)], 2);
    assertNames(found?.message, ['2 of 4 connections got nothing for 4.0 s', '3 broadcasts all at once at 5.2 s']);
    assertNames(found?.fix, ['one of the 2 processes', 'Redis']);
  });

  it('reports no slow broadcasts if all take long, or none took half a second', () => {
    assert.equal(judged(Array.from({ length: 9 }, () => [900, 2000])), undefined);
    assert.equal(judged([...usual(8), [400, 450]]), undefined);
  });

  describe('broadcasts that all wait', () => {
    const even = Array.from({ length: 9 }, (_, index): [number, number] => [1998 + index, 2010]);
    const trip: Change = ({ connections }) => Object.assign(connections.stagesMs, { namespace: summaryOf(4, 2) });

    it('reports that the server holds broadcasts back if all of them take far longer than a round trip', () => {
      const found = judged(even, 1, trip);
      assertNames(found?.message, ['every copy of 9 broadcasts came at least 1,998 ms', '2.00 ms (median)']);
      assert.deepEqual([found?.invalidates, found?.fails], [[], null]);
    });

    it('reports no broadcasts held back by the server if load can be the cause', () => {
      const busy =
        (generator: number, percent: number): Change =>
        (result, measured) => {
          trip(result, measured);
          for (const loop of result.generator) loop.delayMaxMs = generator;
          result.stages = [{ name: 'broadcasts', t: 0 }];
          result.samples = [1, 2, 3].map((t) => ({ t, connections: 4, worker: { cpuPercent: percent } }));
        };
      assert.ok(judged(even, 1, busy(5, 20)));
      assert.equal(judged(even, 1, busy(600, 20)), undefined, 'the generator was late');
      assert.equal(judged(even, 1, busy(5, 400)), undefined, 'the workers computed');
      assert.equal(judged([...even, [900, 2000]], 1, trip), undefined, 'the times vary');
      assert.equal(judged(even), undefined, 'a round trip is unknown');
    });
  });
});
