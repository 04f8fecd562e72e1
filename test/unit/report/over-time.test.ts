import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Drift, OverTimeResult } from '../../../protocol/result/over-time.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { readingsOverTime } from '../../../report/charts/drift.ts';
import { renderConsole } from '../../../report/console/console.ts';
import { renderHtml } from '../../../report/html/report.ts';
import { renderMarkdown } from '../../../report/markdown/markdown.ts';
import { driftAnswer, readingRows, workersDrift } from '../../../report/text/over-time-text.ts';
import { perfectResult } from '../../helpers/results.ts';
import { drift, moment, waves } from '../../helpers/waves.ts';

const KB = 1024;

const LEAK = drift(20 * KB, KB);
const NONE = drift(10, 50);
const UNKNOWN: Drift = { ...LEAK, low95: null, high95: null, leaks: null, noLeakAbove: null };

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
    console: (result: Result) => renderConsole(result, { color: false, width: 120, verbose: true }),
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
      const asItWas = render(waves({ collected: false }));
      assert.match(asItWas, /what grows may be garbage/);
      assert.match(asItWas, /grows by 20\.0 KB per connection/);
      assert.doesNotMatch(asItWas, /leaks 20/);
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
