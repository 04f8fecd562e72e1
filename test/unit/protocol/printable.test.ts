import assert from 'node:assert/strict';
import { test } from 'node:test';
import { printable } from '../../../protocol/printable.ts';

test('text of a server stays on one line and can do nothing to a terminal', () => {
  assert.equal(printable('  bad\r\n\ttoken ', 50), 'bad token');
  assert.equal(printable('\x1b[31mred\x07\x00', 50), '\\u{1b}[31mred\\u{7}\\u{0}');
  assert.equal(printable('a\u202eb\u200bc\ud800d', 50), 'a\\u{202e}b\\u{200b}c\\u{d800}d');
  assert.equal(printable('grüße 🎉 <b>&', 50), 'grüße 🎉 <b>&');
});

test('it has a bounded length, also if every character is escaped', () => {
  assert.equal(printable('x'.repeat(1e6), 10), 'xxxxxxxxx…');
  assert.equal(printable('\x00'.repeat(1e6), 10).length, 10);
});
