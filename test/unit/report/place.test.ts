import assert from 'node:assert/strict';
import { it } from 'node:test';
import { renderConsole } from '../../../report/console/console.ts';
import { renderHtml } from '../../../report/html/report.ts';
import { renderMarkdown } from '../../../report/markdown/markdown.ts';
import { perfectResult } from '../../helpers/results.ts';

it('a server of the user’s is called that, and on this machine where it is', () => {
  const result = perfectResult();
  const texts = (target: string) => {
    Object.assign(result.run, { profile: 'remote', target });
    const first = renderConsole(result, { color: false, width: 200 }).split('\n')[0] ?? '';
    return [first, renderHtml(result), renderMarkdown(result)];
  };
  for (const text of texts('http://localhost:3000')) assert.match(text, /your own server on this machine/);
  for (const text of texts('https://staging.example.com')) {
    assert.match(text, /your own server(?! on this machine)/);
    assert.doesNotMatch(text, /profile remote/);
  }
});
