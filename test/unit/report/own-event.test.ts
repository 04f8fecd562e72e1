/** How the reports say that an event of the server's own was counted, and what its latencies are. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LATENCY_FROM } from '../../../protocol/result/latency.ts';
import { renderConsole } from '../../../report/console/console.ts';
import { renderHtml } from '../../../report/html/report.ts';
import { renderMarkdown } from '../../../report/markdown/markdown.ts';
import { perfectResult } from '../../helpers/results.ts';

const SAYS = {
  payload: /any error of that clock is in them/,
  publisher: /Publish to receive[\s\S]*share the generator's clock/,
  'first receipt': /Spread[\s\S]*when it was sent is not known/,
};
const HEADLINES = {
  payload: / p99 [\d.]+ ms (?!from|after)/,
  publisher: /ms from publish to receive/,
  'first receipt': /ms after the first/,
};

test('every report names what was counted, and what its latencies count from', () => {
  for (const from of LATENCY_FROM.filter((one) => one !== 'server')) {
    const result = perfectResult();
    assert.ok(result.delivery);
    Object.assign(result.delivery, { source: 'own event', event: 'chat message', publisher: null, outside: 7 });
    result.latency.from = from;
    const plain = (text: string) => text.replaceAll(/&#39;|’/g, "'").replaceAll(/\s+/g, ' ');
    const console = plain(renderConsole(result, { color: false, width: 100, verbose: true }));
    for (const text of [console, plain(renderHtml(result)), plain(renderMarkdown(result))]) {
      assert.match(text, SAYS[from], from);
      assert.match(text, /Counted: .{0,2}chat message.{0,2}, published by the server itself/);
      assert.match(text, /Outside/);
    }
    assert.match(console, HEADLINES[from]);
  }
});
