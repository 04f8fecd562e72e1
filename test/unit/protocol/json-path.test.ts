import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatJsonPath, parseArgumentPath, valueAtPath, valuesAtPath } from '../../../protocol/base/json-path.ts';

const first = { id: 7, 'message id': 'm', 'a"\\b]': 'odd', list: [{ at: 1 }] };

const CASES: [path: string, found: unknown][] = [
  ['first argument', first],
  ['$.0.id', 7],
  ['$[0].id', 7],
  ['$[0]["message id"]', 'm'],
  ["$[0]['message id']", 'm'],
  ['$[0]["a\\"\\\\b]"]', 'odd'],
  ['$.0.list[0].at', 1],
  ['$.1', 'second'],
  ...['$.2', '$.0.id.more', '$.0.toString', '$.0.__proto__'].map((path): [string, unknown] => [path, undefined]),
];
const MANY: [path: string, found: unknown[]][] = [
  ['$.0.*.id', [1, 2]],
  ['$[0][*].id', [1, 2]],
  ['$.*.id', [3]],
  ['$.0.*.tags.*', ['a']],
  ['$.1.by.*.id', [4, 5]],
  ['$.1.id', [3]],
  ['$.1.id.*', []],
  ['$.2.*', []],
];

/** Returns the parsed path. It must be the same after printing and parsing again. */
function parsed(text: string) {
  const path = parseArgumentPath(text) ?? assert.fail(text);
  assert.deepEqual(parseArgumentPath(formatJsonPath(path)), path);
  return path;
}

test('finds values at JSON paths into the arguments of an event', () => {
  for (const [text, found] of CASES) assert.deepEqual(valueAtPath([first, 'second'], parsed(text)), found, text);
});

test('finds all values at a JSON path with *', () => {
  const args = [[{ id: 1, tags: ['a'] }, { id: 2 }, 'x'], { id: 3, by: { k: { id: 4 }, l: { id: 5 } } }];
  for (const [text, found] of MANY) assert.deepEqual(valuesAtPath(args, parsed(text)), found, text);
});

test('refuses a text that is not a JSON path', () => {
  for (const text of ['', '$', 'id', '$.id', '0.id', '$.0.', '$.0..id', '$[0', '$.0 .id', '$.0[x]', '$.0["\\x"]']) {
    assert.equal(parseArgumentPath(text), undefined, text);
  }
});
