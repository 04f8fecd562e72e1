import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Drift, OverTimeResult } from '../../../protocol/result/over-time.ts';
import { type Result, resultSchema } from '../../../protocol/result/result.ts';
import { readingsOverTime } from '../../../report/charts/drift.ts';
import { renderConsole } from '../../../report/console/console.ts';
import { renderHtml } from '../../../report/html/report.ts';
import { renderMarkdown } from '../../../report/markdown/markdown.ts';
import { driftAnswer, readingRows, workersDrift } from '../../../report/over-time-text.ts';
import { perfectResult } from '../../helpers/results.ts';

const KB = 1024;
const MB = KB * KB;

const LEAK: Drift = {
  bytesPerConnection: 20 * KB,
  low95: 19 * KB,
  high95: 21 * KB,
  bytesPerHour: 90 * MB,
  bytesPerWave: 2 * MB,
  leaks: true,
  noLeakAbove: 21 * KB,
};
const NONE: Drift = {
  ...LEAK,
  bytesPerConnection: 10,
  low95: -40,
  high95: 60,
  bytesPerWave: 1000,
  leaks: false,
  noLeakAbove: 60,
};
const UNKNOWN: Drift = { ...LEAK, low95: null, high95: null, leaks: null, noLeakAbove: null };

function moment(t: number, connections: number, gone: number) {
  return { t, connections, gone, bytes: { workerRss: 200 * MB + connections * KB, workerHeapUsed: 40 * MB } };
}

function waves(changes: Partial<OverTimeResult> = {}): Result {
  const overTime: OverTimeResult = {
    kind: 'waves',
    collected: true,
    peaks: [moment(10, 5000, 0), moment(30, 5000, 5000), moment(50, 5000, 10_000)],
    readings: [moment(20, 0, 5000), moment(40, 0, 10_000), moment(60, 0, 15_000)],
    warmUpReadings: 0,
    drift: { workerRss: NONE, workerHeapUsed: LEAK, fleetRss: NONE },
    ...changes,
  };
  const result = perfectResult();
  return resultSchema.parse({ ...result, delivery: null, memory: { ...result.memory, overTime } });
}

it('the answer is a leak with its interval, or the least that would have been one, or not known', () => {
  assert.equal(driftAnswer(LEAK), 'leaks 20.0 KB per connection (19.0 KB to 21.0 KB)');
  assert.equal(driftAnswer(NONE), 'no leak above 60 B per connection');
  assert.equal(driftAnswer(UNKNOWN), 'not known: that takes three readings');
});

it('any figure of the workers that leaks answers for them', () => {
  const { overTime } = waves().memory;
  assert.equal(workersDrift(overTime as OverTimeResult)?.layer, 'workerHeapUsed');
  const none = { ...(overTime as OverTimeResult), drift: { workerHeapUsed: NONE, workerRss: NONE } };
  assert.equal(workersDrift(none)?.layer, 'workerRss');
  assert.equal(workersDrift({ ...none, drift: {} }), null);
});

it('a table of readings has a limit, and the newest in it', () => {
  const readings = Array.from({ length: 500 }, (_, index) => moment(index, 100, index));
  const rows = readingRows({ ...(waves().memory.overTime as OverTimeResult), peaks: [], readings });
  assert.ok(rows.length <= 60);
  assert.equal(rows.at(-1)?.reading.gone, 499);
});

describe('a run of waves', () => {
  const forms = {
    console: (result: Result) => renderConsole(result, { color: false, width: 120 }),
    Markdown: renderMarkdown,
    HTML: renderHtml,
  };
  for (const [name, render] of Object.entries(forms)) {
    it(`${name}: its answer, its waves, and no slope of connections`, () => {
      const text = render(waves());
      assert.match(text, /leaks 20\.0 KB per connection/);
      assert.match(text, /3 waves of 5,000/);
      assert.match(text, /15,000/);
      assert.match(text, /after a forced garbage collection/);
      assert.doesNotMatch(text, /Memory per connection \(KB\)|Memory per Connection\n|needs memory readings/);
      assert.match(render(waves({ collected: false })), /what grows may be garbage/);
    });

    it(`${name}: no answer if the run is INVALID`, () => {
      const text = render({ ...waves(), verdict: { status: 'INVALID', reasons: [] } });
      assert.doesNotMatch(text, /leaks 20/);
    });

    it(`${name}: churn`, () => {
      const readings = [moment(20, 500, 500), moment(40, 500, 1000), moment(60, 500, 1500)];
      const text = render(waves({ kind: 'churn', peaks: [], readings, warmUpReadings: 1 }));
      assert.match(text, /5,000 connections at once, 5,000 came and went/);
      assert.match(text, /The first reading is left out as warm-up/);
    });
  }

  it('has a chart with its peaks and what was left', () => {
    const chart = readingsOverTime(waves());
    assert.deepEqual(
      chart?.legend.map(({ name }) => name),
      ['all connected', 'all have left', 'memory'],
    );
    assert.equal(readingsOverTime(perfectResult()), null);
  });
});
