import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gradeOf } from '../../../report/figures/grade.ts';
import { renderMarkdown } from '../../../report/markdown/markdown.ts';
import { perfectBatch, perfectResult, resultWithMessages, summaryOf } from '../../helpers/results.ts';

const MARKUP = '<script>alert(1)</script> | [x](javascript:alert(1)) `a` **b**\n# c';

describe('report.md', () => {
  it('has the headings and tables of the published benchmark report, the command and the machine', () => {
    const result = perfectResult();
    const text = renderMarkdown(result);
    const headings = [...text.matchAll(/^#{1,3} (.*)$/gm)].map((match) => match[1]);
    assert.deepEqual(headings, [
      'Socket.IO performance: 5,000 connections',
      'System Environment',
      'Hardware Specifications',
      'System Limits',
      'Performance Results (5,000 Connections)',
      'Connection Performance',
      'RAM vs Connections (MB)',
      'Memory per Connection',
      'Message Performance',
      'Latency',
      'CPU',
      'System Capacity',
    ]);
    assert.ok(text.includes('npx artillery run scenarios/'));
    const elsewhere = renderMarkdown({ ...result, run: { ...result.run, file: 'load/chat.yaml' } });
    assert.match(elsewhere, /npx artillery run load\/chat\.yaml/);
    assert.ok(text.includes(result.environment.cpu));
    assert.match(text, /^\| \*\*Target Connections\*\* \| 5,000 \| conn \|$/m);
    // 215 MB of 5,000 connections, as the published report reckons.
    assert.match(text, /^\| \*\*Memory per Connection \(approx\)\*\* \| 44\.0 \| KB \|$/m);
    assert.match(text, /^\| Message Delivery Rate \| \*\*100 %\*\* \|$/m);
  });

  it('has the messages of clients where there are some', () => {
    const text = renderMarkdown(resultWithMessages());
    assert.match(text, /### Messages of Clients\n\nEvery 1 s, each connection sends "event/);
    assert.match(text, /\| To acknowledgement \| +50,000 \|/);
    assert.ok(!renderMarkdown(perfectResult()).includes('Messages of Clients'));
  });

  it('keeps every table straight, also with markup in every text from outside', () => {
    const result = perfectResult();
    Object.assign(result.run, { id: MARKUP, scenario: MARKUP, target: MARKUP, engine: MARKUP });
    Object.assign(result.environment, { cpu: MARKUP, kernel: MARKUP, versions: { [MARKUP]: MARKUP } });
    result.environment.limits = { [MARKUP]: 1 };
    result.verdict = { status: 'SUSPECT', reasons: [{ code: MARKUP, message: MARKUP, fix: MARKUP }] };
    for (const layer of result.memory.layers) layer.title = MARKUP;
    result.capacity.limits = [{ name: MARKUP, max: 1 }];
    result.memory.perConnectionBytes[MARKUP] = { slope: 1, low95: null, high95: null, r2: 1, naive: 1 };
    const text = renderMarkdown(result);
    assert.doesNotMatch(text, /<script|(?<!\\)\[x\]|(?<!\\)`a|^# c/m);
    const tables = text.split('\n\n').filter((block) => block.startsWith('|'));
    assert.ok(tables.length > 6);
    for (const table of tables) {
      const widths = table.split('\n').map((line) => line.split(/(?<!\\)\|/).length);
      assert.equal(new Set(widths).size, 1, table);
    }
  });

  it('shows no figures of an invalid run', () => {
    const reasons = [{ code: 'DEPLOYMENT_CHANGED', message: 'w0 restarted during the run' }];
    const text = renderMarkdown({ ...perfectResult(), verdict: { status: 'INVALID', reasons } });
    assert.match(text, /\*\*No result: this measurement cannot be trusted\.\*\*\n\nMeasurement: \*\*INVALID\*\*/);
    assert.match(text, /w0 restarted/);
    assert.doesNotMatch(text, /Connection Performance|Grade|System Capacity/);
  });

  it('shows the batches with the lowest coverage, however many there are', () => {
    const result = perfectResult();
    const batches = Array.from({ length: 40 }, (_, index) => perfectBatch(index + 1, 5000));
    batches[36] = { ...perfectBatch(37, 5000), received: 4000, lostConnected: 1000 };
    const text = renderMarkdown({ ...result, delivery: { ...result.delivery, batches } as never });
    assert.match(text, /\| :-- \|[^\n]*\n\| 37 \| 5,000 \| 4,000 \| 80\.00 % \|/);
  });
});

describe('the grade', () => {
  const result = perfectResult();
  const withDelivery = (coverage: number) =>
    gradeOf({ ...result, delivery: { ...result.delivery, coverage } as never });

  it('falls with what is missing', () => {
    const coverages = [1, 0.9999, 0.999, 0.998, 0.98, 0.773];
    assert.deepEqual(coverages.map(withDelivery), ['A+', 'B', 'B', 'C', 'D', 'F']);
  });

  it('is no A+ for slow broadcasts or a rate that was not reached', () => {
    const slow = { ...result.latency, completionMs: { ...summaryOf(12, 50), p99: 301 } };
    assert.equal(gradeOf({ ...result, latency: slow }), 'A');
    assert.equal(gradeOf({ ...result, connections: { ...result.connections, achievedRatePerSec: 300 } }), 'A');
  });

  it('counts connections that are missing, too', () => {
    const { connections } = result;
    assert.equal(gradeOf({ ...result, connections: { ...connections, held: 4960 } }), 'C');
    // An external engine's connections were counted at the plateaus only.
    assert.equal(gradeOf({ ...result, connections: { ...connections, held: null, peak: 4960 } }), 'C');
  });

  it('is not given where nothing can be said', () => {
    assert.equal(gradeOf({ ...result, verdict: { status: 'INVALID', reasons: [] } }), null);
    assert.equal(gradeOf({ ...result, delivery: null }), null);
  });
});
