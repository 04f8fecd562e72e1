/** Copies that no correct server sends stand in every report, where there are any. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { renderConsole } from '../../../report/console/console.ts';
import { renderHtml } from '../../../report/html/report.ts';
import { renderMarkdown } from '../../../report/markdown/markdown.ts';
import { perfectResult } from '../../helpers/results.ts';

it('are named with their count', () => {
  const result = perfectResult();
  Object.assign(result.delivery ?? {}, { wrongSize: 7, neverOrdered: 12_345 });
  const console = renderConsole(result, { color: false, width: 100, verbose: true });
  assert.match(console, /Wrong size +7 +payload of another length/);
  assert.match(console, /Never ordered +12,345 /);
  assert.match(renderMarkdown(result), /\| Wrong size\s+\| 7\s+\|/);
  assert.match(renderHtml(result), /Wrong size/);
});

it('are left out of a report without any', () => {
  for (const text of [
    renderConsole(perfectResult(), { color: false, width: 100, verbose: true }),
    renderHtml(perfectResult()),
  ]) {
    assert.doesNotMatch(text, /Wrong size|Never ordered|Unreadable/);
  }
});
