import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { type Result, resultSchema } from '../../../protocol/result/result.ts';
import { readResult } from '../../../report/read.ts';
import { renderAnswer, renderRunConsole } from '../../../report/render/console.ts';
import { html } from '../../../report/render/markup.ts';
import { runDocument } from '../../../report/sections/run-document.ts';
import { finding, withFindings } from '../../helpers/findings.ts';
import { reportHtml, reportMarkdown, textOfPage } from '../../helpers/report-text.ts';
import { perfectResult, resultWithMessages } from '../../helpers/results.ts';
import { sample } from '../../helpers/zod-sample.ts';

const measured = readResult('docs/reports/5k/result.json');

function invalid(): Result {
  return withFindings(perfectResult(), finding('MEMBERS_DISAGREE', 'they differ', { fix: 'see its log' }));
}

it('the html template escapes inserted values, and keeps its own markup', () => {
  const name = `<b a="1" b='2'>&`;
  const inner = html`<i title="${name}">${name}</i>`;
  const escaped = '&lt;b a=&quot;1&quot; b=&#39;2&#39;&gt;&amp;';
  assert.equal(html`<p>${[inner]}${0}${null}${false}</p>`.markup, `<p><i title="${escaped}">${escaped}</i>0</p>`);
});

describe('report.html', () => {
  it('report.html escapes all text of the document', () => {
    const marks: string[] = [];
    const attack = (path: string) => {
      marks.push(path);
      return `"'><img src=x onerror=alert(${marks.length})><script>alert(1)</script>\${x}{a|b}\`</style>`;
    };
    const result = resultSchema.parse(sample(resultSchema, attack));
    assert.ok(marks.length > 40, `${marks.length} strings`);
    const markup = reportHtml({ ...result, absent: {} });
    assert.doesNotMatch(reportHtml(result), /<img/, 'with sections that are absent');
    assert.equal(markup.match(/<img/g), null);
    assert.equal(markup.match(/<script/g)?.length, 1);
    assert.equal(markup.match(/<\/style/g)?.length, 1);
    assert.ok((markup.match(/&lt;img src=x onerror=alert/g)?.length ?? 0) > 40);
    // Every attribute ends at the quote that opened it.
    assert.equal(markup.match(/="[^"]*onerror=alert[^"]*"[^\s>/?]/g), null);
  });

  it('report.html loads nothing from the network, and stays small', () => {
    const markup = reportHtml(measured);
    assert.doesNotMatch(markup, /(?:src|href)="(?!#|data:)[^"]*"/);
    assert.doesNotMatch(markup, /@import|url\((?!#)/);
    assert.match(markup, /default-src 'none'/);
    assert.ok(markup.length < 3_000_000, `${markup.length}`);
  });

  it('report.html begins with the answer and its main figures', () => {
    const text = textOfPage(reportHtml(measured)).toLowerCase();
    const { latency, memory } = measured;
    const p99 = (latency.oneWayMs?.p99 ?? 0).toFixed(0);
    const cost = ((memory.perConnection?.bytes ?? 0) / 1024).toFixed(1);
    const order = ['passed', 'valid', 'connections held', '5,000', 'delivered', '100', p99, cost, 'next limit'];
    const at = order.map((part) => text.indexOf(part));
    assert.ok(!at.includes(-1), String(at));
    assert.deepEqual(
      at,
      Array.from(at).sort((a, b) => a - b),
    );
  });

  it('report.html has the reasons of an INVALID run, and no headline figure', () => {
    const markup = reportHtml(invalid());
    assert.match(textOfPage(markup), /They differ\. MEMBERS_DISAGREE Fix: see its log/);
    assert.doesNotMatch(markup, /class="headline"|id="capacity"/);
    assert.doesNotMatch(textOfPage(markup), /16\.6 KB|14\.6/);
  });

  it('report.html links terms to existing definitions, and defines no others', () => {
    const markup = reportHtml(measured);
    const ids = [...markup.matchAll(/ id="([^"]+)"/g)].map((match) => match[1] as string);
    assert.equal(new Set(ids).size, ids.length, 'ids are unique');
    const targets = [...markup.matchAll(/href="#([^"]+)"/g)].map((match) => match[1] as string);
    assert.ok(targets.length > 25);
    const missing = targets.filter((target) => !ids.includes(target));
    const needless = ids.filter((id) => id.startsWith('def-') && !targets.includes(id));
    assert.deepEqual({ missing, needless }, { missing: [], needless: [] });
  });
});

describe('terminal output', () => {
  it('terminal output has colours and no other escapes, and the same text without colours', () => {
    const options = { width: 80, verbose: true };
    const plain = renderRunConsole(runDocument(invalid()), { ...options, color: false });
    const coloured = renderRunConsole(runDocument(invalid()), { ...options, color: true });
    assert.equal(stripVTControlCharacters(plain), plain);
    assert.notEqual(coloured, plain);
    assert.equal(stripVTControlCharacters(coloured), plain);
  });

  it('terminal output keeps tables and sentences within its columns', () => {
    for (const width of [40, 80, 120]) {
      const text = renderRunConsole(runDocument(resultWithMessages()), { width, color: false, verbose: true });
      // A single word, or the first two columns of a table, may exceed the width.
      const long = text.split('\n').filter((line) => line.length > width && line.trim().split(/\s+/).length > 8);
      assert.deepEqual(long, []);
    }
  });

  for (const [what, codes, missed, expected] of [
    ['a missed threshold, by default', ['MACHINE_SATURATED'], true, /^Failed: socketio\.connections\.rate > 900/],
    ["the failure's cause", ['MACHINE_SATURATED', 'CONNECTIONS_FAILED'], true, /^Failed: about CONNECTIONS_FAILED$/m],
    ['the reason to distrust the run', ['MACHINE_SATURATED'], false, /^SUSPECT: .* in doubt: about MACHINE_SATURATED/],
    ['another finding', ['MACHINE_SATURATED', 'WORKERS_LEAK'], false, /^SUSPECT: .* in doubt\. About WORKERS_LEAK\./],
  ] as const) {
    it(`terminal output starts with ${what}`, () => {
      const thresholds = missed ? [{ expression: 'socketio.connections.rate > 900', met: false, strict: true }] : [];
      const result = withFindings({ ...perfectResult(), thresholds }, ...codes.map((code) => finding(code)));
      assert.match(renderAnswer(runDocument(result), { width: 200, color: false }), expected);
    });
  }

  it('terminal output has only the answer by default', () => {
    const text = renderAnswer(runDocument(invalid()), { width: 80, color: false });
    assert.match(
      text,
      /^No result: this measurement cannot be trusted: they differ\n {4}fix: see its log \(MEMBERS_DISAGREE\)\n/,
    );
    assert.doesNotMatch(text, /127\.0\.0\.1/);
  });
});

describe('report.md', () => {
  const MARKUP = '<script>alert(1)</script> | [x](javascript:alert(1)) `a` **b**\n# c';

  it('report.md keeps every table aligned, even with markup in all outside text', () => {
    const result = perfectResult();
    Object.assign(result.run, { scenario: MARKUP, target: MARKUP, engine: MARKUP });
    result.findings = [{ ...finding('GENERATOR_LATE', MARKUP, { fix: MARKUP }), code: MARKUP }];
    result.thresholds = [{ expression: MARKUP, met: false, strict: true }];
    const text = reportMarkdown(result);
    assert.doesNotMatch(text, /<script|(?<!\\)\[x\]|(?<!\\)`a|^# c/m);
    const tables = text.split('\n\n').filter((block) => block.startsWith('|'));
    assert.ok(tables.length > 1);
    for (const table of tables) {
      const lines = table.trim().split('\n');
      assert.equal(new Set(lines.map((line) => line.split(/(?<!\\)\|/).length)).size, 1, table);
    }
  });
});
