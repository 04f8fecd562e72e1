/** Sections of which a run knows nothing: every report gives the reason, and has no empty table in their place. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { renderConsole } from '../../../report/console/console.ts';
import { renderHtml } from '../../../report/html/report.ts';
import { renderJunit } from '../../../report/junit.ts';
import { renderMarkdown } from '../../../report/markdown/markdown.ts';
import { perfectResult } from '../../helpers/results.ts';

const WHY = 'no control port';

function outside() {
  const result = perfectResult();
  const { inService: _, ...memory } = result.memory;
  const times = result.latency;
  return {
    ...result,
    absent: { memory: WHY, cpu: WHY, delivery: WHY, latency: WHY, roundTrip: WHY },
    delivery: null,
    environment: { ...result.environment, server: null },
    latency: {
      ...times,
      ...{ oneWayMs: null, localMs: null, crossWorkerMs: null, completionMs: null, sendDelayMs: null },
      ...{ sentinelMs: null, behindSentinelMs: null, roundTripHalfMs: { underLoad: null, single: null } },
    },
    memory: {
      ...memory,
      inService: null,
      perConnectionBytes: {},
      peakBytes: {},
      residualBytes: {},
      plateaus: [{ connections: 0 }, { connections: 5000 }],
      absent: { workerRss: 'none of its processes is known on this machine' },
    },
    capacity: { seedTheoreticalMax: null, memoryLimited: null, pings: null, limits: [], unknown: [], lowest: null },
    stages: [
      { name: 'ramp', t: 1 },
      { name: 'plateau', t: 10 },
      { name: 'hold', t: 13 },
      { name: 'disconnect', t: 30 },
    ],
  };
}

describe('without a control port', () => {
  it('the console claims what was measured, and says what was not', () => {
    const text = renderConsole(outside(), { color: false, width: 120, verbose: true });
    assert.match(
      text,
      /5,000 connections held for 20 s \(WebSocket-only clients\) · memory, CPU and delivery were not measured: no control port/,
    );
    assert.match(text, /RAM against connections \(MB\)\n {2}Not measured: no control port\./);
    assert.match(text, /Message performance\n {2}Not measured: no control port\./);
    assert.match(text, /The server's CPU was not measured: no control port\./);
    assert.doesNotMatch(text, /Memory per connection|Capacity|Latency \(ms\)|none of its processes/);
  });

  it('the page has the reason in the place of each section', () => {
    const markup = renderHtml(outside());
    for (const id of ['memory', 'latency', 'round-trip', 'delivery', 'capacity']) {
      const section = markup.slice(markup.indexOf(`<section id="${id}"`));
      const text = section.slice(0, section.indexOf('</section>'));
      assert.match(text, /Not measured: no control port\./, id);
      assert.doesNotMatch(text, /<table/, id);
    }
    assert.equal(markup.match(/<dd class="more">no control port<\/dd>/g)?.length, 3, 'tiles');
  });

  it('Markdown and JUnit have the reason', () => {
    const markdown = renderMarkdown(outside());
    for (const heading of ['RAM vs Connections (MB)', 'Memory per Connection', 'Message Performance', 'Latency']) {
      const [, after = ''] = markdown.split(`### ${heading}\n\n`);
      assert.match(after, /^Not measured: no control port\./, heading);
    }
    assert.match(renderJunit(outside()), /<property name="not measured: delivery" value="no control port"\/>/);
  });
});
