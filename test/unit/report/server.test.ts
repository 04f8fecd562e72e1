/** Every report says which server its figures are of, and whether its collections were checked. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Result } from '../../../protocol/result/result.ts';
import { renderConsole } from '../../../report/console/console.ts';
import { renderHtml } from '../../../report/html/report.ts';
import { renderMarkdown } from '../../../report/markdown/markdown.ts';
import { perfectResult } from '../../helpers/results.ts';

type Server = Result['environment']['server'];

function reportsOf(server: Server): Record<string, string> {
  const result = perfectResult();
  result.environment.server = server;
  return {
    console: renderConsole(result, { color: false, width: 100, verbose: true }),
    html: renderHtml(result),
    markdown: renderMarkdown(result),
  };
}

describe('the server', () => {
  it('is named in each headline, and described in the environment', () => {
    const server: Server = { kind: 'untuned', tunings: { dropRequest: 'off' }, options: { pingInterval: '4321' } };
    const { console: lines, html, markdown } = reportsOf(server);
    assert.match(lines ?? '', /^ {2}5,000 connections held by the untuned server \(WebSocket-only clients\)$/m);
    assert.match(html ?? '', /the full target, made at 499 per second, by the untuned server/);
    assert.match(html ?? '', /pingInterval<\/th><td[^>]*>4321/);
    assert.match(markdown ?? '', /^Measurement: \*\*VALID\*\*\. The figures are of the untuned server\.$/m);
    assert.match(markdown ?? '', /the untuned server, tuning dropRequest off, pingInterval 4321/);
  });

  it('is in no headline where it is not known', () => {
    for (const [name, text] of Object.entries(reportsOf(null))) {
      assert.doesNotMatch(text, /tuned server|your own server/, name);
    }
  });
});

describe('collections that nobody counts', () => {
  it('are a note wherever memory at rest is', () => {
    const note = /collected their garbage is not\s+checked/;
    for (const [name, text] of Object.entries(reportsOf(null))) assert.doesNotMatch(text, note, name);
    const result = perfectResult();
    result.memory.collectionsCounted = false;
    for (const text of [
      renderConsole(result, { color: false, width: 100, verbose: true }),
      renderHtml(result),
      renderMarkdown(result),
    ]) {
      assert.match(text, note);
    }
    result.memory.perConnectionBytes = {};
    assert.doesNotMatch(renderMarkdown(result), note, 'no memory, no note');
  });
});
