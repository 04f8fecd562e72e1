import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Result, resultSchema } from '../../../protocol/result/result.ts';
import { html } from '../../../report/html/html.ts';
import { renderHtml } from '../../../report/html/report.ts';
import { readResult } from '../../../report/read.ts';
import { page, sections } from '../../helpers/pages.ts';
import { perfectResult, resultWithMessages } from '../../helpers/results.ts';
import { sample } from '../../helpers/zod-sample.ts';

const measured = readResult('docs/reports/5k/result.json');

/** A result that has nothing but the frame: no plateau, no sample, no receipt. */
function emptyResult(): Result {
  const result = perfectResult();
  const { connections, latency, memory } = result;
  return {
    ...result,
    connections: {
      ...connections,
      configuredRatePerSec: null,
      achievedRatePerSec: null,
      rampSeconds: null,
      connectMs: null,
      stagesMs: {},
      perWorker: {},
    },
    delivery: null,
    latency: {
      ...latency,
      oneWayMs: null,
      localMs: null,
      crossWorkerMs: null,
      completionMs: null,
      sendDelayMs: null,
      roundTripHalfMs: { underLoad: null, single: null },
      histograms: {},
    },
    memory: { ...memory, perConnectionBytes: {}, plateaus: [], residualBytes: {}, absent: {} },
    cpu: {},
    generator: [],
    samples: [],
  };
}

/** Text of the page, without its tags, style and script. */
function textOf(markup: string): string {
  return markup.replace(/<(style|script)>[\s\S]*?<\/\1>/g, '').replace(/<[^>]*>/g, ' ');
}

describe('html', () => {
  it('escapes what is put in, and leaves markup of its own alone', () => {
    const name = `<b a="1" b='2'>&`;
    const inner = html`<i title="${name}">${name}</i>`;
    const escaped = '&lt;b a=&quot;1&quot; b=&#39;2&#39;&gt;&amp;';
    assert.equal(html`<p>${[inner]}${0}${null}${false}</p>`.markup, `<p><i title="${escaped}">${escaped}</i>0</p>`);
  });
});

describe('renderHtml', () => {
  it('lets no text of the document become markup', () => {
    const marks: string[] = [];
    const attack = (path: string) => {
      marks.push(path);
      return `"'><img src=x onerror=alert(${marks.length})><script>alert(1)</script>\${x}{a|b}</style>`;
    };
    const result = resultSchema.parse(sample(resultSchema, attack));
    assert.ok(marks.length > 40, `${marks.length} strings`);
    const markup = renderHtml({ ...result, absent: {} });
    assert.doesNotMatch(renderHtml(result), /<img/, 'with sections that are absent');
    assert.equal(markup.match(/<img/g), null);
    assert.equal(markup.match(/<script/g)?.length, 1);
    assert.equal(markup.match(/<\/style/g)?.length, 1);
    // It is there, as text.
    assert.ok((markup.match(/&lt;img src=x onerror=alert/g)?.length ?? 0) > 40);
    // Every attribute is closed by the quote that opened it.
    assert.equal(markup.match(/="[^"]*onerror=alert[^"]*"[^\s>/?]/g), null);
  });

  it('asks nothing of the network, and stays small', () => {
    const markup = renderHtml(measured);
    assert.doesNotMatch(markup, /(?:src|href)="(?!#|data:)[^"]*"/);
    assert.doesNotMatch(markup, /@import|url\((?!#)/);
    assert.match(markup, /default-src 'none'/);
    assert.ok(markup.length < 3_000_000, `${markup.length}`);
  });

  it('begins with the outcome and the verdict, then the figures that get quoted', () => {
    const text = textOf(renderHtml(perfectResult()));
    const order = ['Passed', '5,000', 'VALID', 'Connections held', 'Time to reach', '55.5', 'Coverage'].map((part) =>
      text.indexOf(part),
    );
    assert.ok(!order.includes(-1), String(order));
    assert.deepEqual(
      order,
      order.toSorted((a, b) => a - b),
    );
  });

  it('has no headline, slopes or capacity when the run is INVALID, and says why', () => {
    const result = perfectResult();
    result.verdict = {
      status: 'INVALID',
      reasons: [{ code: 'DEPLOYMENT_CHANGED', message: 'it stopped', fix: 'see its log' }],
    };
    const markup = renderHtml(result);
    assert.match(textOf(markup), /DEPLOYMENT_CHANGED\s+it stopped\s+Fix: see its log/);
    assert.doesNotMatch(markup, /class="headline"|id="capacity"/);
    assert.doesNotMatch(textOf(markup), /per connection; 95 %|14\.6 KB/);
  });

  it('quotes memory at rest and in service, and of a line that may not be quoted the reason', () => {
    const result = perfectResult();
    const headline = (text: string) => text.slice(text.indexOf('Memory per connection'), text.indexOf('Time to reach'));
    assert.match(
      headline(textOf(renderHtml(result))),
      /19\.7\s+KB\s+in service: Workers 17\.7, nginx 2\.0; 16\.6 KB at rest/,
    );
    Object.assign(result.memory.perConnectionBytes.workerPss as object, { doubt: 'grows' });
    result.capacity.memoryLimited = null;
    const text = textOf(renderHtml(result));
    const reason = 'growth at an unchanged number of connections';
    assert.match(headline(text), new RegExp(`no figure\\s+Workers PSS: ${reason}`));
    assert.match(text, new RegExp(`Fit into the memory budget\\s+–\\s+the workers’ memory: ${reason}`));
    assert.match(text, new RegExp(`Not to be quoted: Workers PSS: ${reason}`));
  });

  it('says of what was not measured that it was not', () => {
    const text = textOf(renderHtml(emptyResult()));
    assert.doesNotMatch(text, /NaN|undefined|null|Infinity|\[object/);
    const headline = text.slice(text.indexOf('Connections held'), text.indexOf('Round trip'));
    assert.equal(headline.match(/not measured/g)?.length, 3);
    assert.match(text, /Rate, achieved\s+not measured/);
    assert.match(text, /Connect time\s+not measured/);
  });

  it('shows every chart of a complete run, wide and narrow', () => {
    const markup = renderHtml(measured);
    const names = [...markup.matchAll(/<div class="chart ?(wide)?" role="img" aria-label="([^"]+)">\s*<svg/g)];
    const titles = names.map(([, , title]) => title);
    for (const title of [
      'Connections, and new connections per second, over time',
      'Workers PSS against connections',
      'Memory (PSS) by layer over time',
      'CPU by layer over time',
      'One-way latency of every receiver, by percentile',
      'When each broadcast reached its first and its last receiver',
      'Connections of each worker',
    ]) {
      assert.ok(titles.includes(title), `${title} in ${titles.join('; ')}`);
    }
    const coverage = 'Coverage of each broadcast';
    assert.ok(!titles.includes(coverage), 'a sentence says that all is 100 %');
    const lossy = structuredClone(measured);
    Object.assign(lossy.delivery?.batches[0] as object, { received: 0 });
    Object.assign(lossy.delivery as object, { received: 1 });
    assert.ok(renderHtml(lossy).includes(`aria-label="${coverage}"`));
    assert.equal(markup.match(/class="chart narrow"/g)?.length, markup.match(/class="chart wide"/g)?.length);
  });

  it('shows errors by cause, the most frequent first', () => {
    const result = perfectResult();
    result.connections.failures = { timeout_open: 3, ECONNREFUSED: 12 };
    result.connections.failureExamples = { timeout_open: '<script>alert(1)</script> & more' };
    const markup = renderHtml(result);
    assert.match(textOf(markup), /ECONNREFUSED\s+12\s+timeout_open\s+3/);
    assert.ok(markup.includes('First <code>timeout_open</code>: &lt;script&gt;alert(1)&lt;/script&gt; &amp; more'));
  });

  it('has a section on the messages of clients only where there are some', () => {
    const withMessages = renderHtml(resultWithMessages());
    assert.match(withMessages, /<section id="messages"/);
    assert.match(withMessages, /<th scope="row">To acknowledgement<\/th>/);
    assert.match(withMessages, /µs per message of a client/);
    assert.doesNotMatch(renderHtml(perfectResult()), /id="messages"/);
  });

  it('links every figure to a definition that is there, and every definition to a heading of the method', () => {
    const markup = renderHtml(measured);
    const ids = [...markup.matchAll(/ id="([^"]+)"/g)].map((match) => match[1] as string);
    assert.deepEqual(
      ids.filter((id, index) => ids.indexOf(id) !== index),
      [],
      'ids are unique',
    );
    const targets = [...markup.matchAll(/href="#([^"]+)"/g)].map((match) => match[1] as string);
    assert.ok(targets.length > 40);
    assert.deepEqual(
      targets.filter((target) => !ids.includes(target)),
      [],
    );
    const headings = sections(page('docs/method.md')).map(({ heading }) => heading.toLowerCase().replaceAll(' ', '-'));
    const anchors = [...markup.matchAll(/docs\/method\.md#([\w-]+)/g)].map((match) => match[1] as string);
    assert.ok(anchors.length > 20);
    assert.deepEqual(
      anchors.filter((anchor) => !headings.includes(anchor)),
      [],
    );
  });
});
