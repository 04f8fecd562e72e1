import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Result } from '../../../protocol/result/result.ts';
import { renderConsole } from '../../../report/console/console.ts';
import { renderHtml } from '../../../report/html/report.ts';
import { renderMarkdown } from '../../../report/markdown/markdown.ts';
import { perfectResult } from '../../helpers/results.ts';

const NOTE =
  /20 drops: 18 returned after 120 ms \(median; longest 900 ms\), 17 of them with a restored session; 2 gave up/;

function reconnecting(): Result {
  const result = perfectResult();
  const awayMs = { count: 18, min: 20, mean: 130, p50: 120, p90: 300, p95: 500, p99: 800, p999: null, max: 900 };
  result.connections.reconnection = { dropped: 20, returned: 18, recovered: 17, gaveUp: 2, left: 0, away: 0, awayMs };
  Object.assign(result.delivery ?? {}, { missed: 18, resent: 17 });
  return result;
}

it('drops, returns and what was missed are in console, Markdown and HTML', () => {
  const result = reconnecting();
  const texts = [
    renderConsole(result, { width: 400, color: false, verbose: true }),
    renderMarkdown(result),
    renderHtml(result),
  ];
  for (const text of texts) {
    assert.match(text, NOTE);
    assert.match(text, /Missed[^\d]*18/);
    assert.match(text, /Sent again[^\d]*17/);
  }
});

it('nothing is said where nothing dropped', () => {
  const result = perfectResult();
  assert.doesNotMatch(renderMarkdown(result), /Reconnection/);
  result.connections.reconnection = {
    dropped: 0,
    returned: 0,
    recovered: 0,
    gaveUp: 0,
    left: 0,
    away: 0,
    awayMs: null,
  };
  assert.doesNotMatch(renderMarkdown(result), /Reconnection/);
});
