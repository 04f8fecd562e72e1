import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatJsonPath, parseJsonPath, valueAt, valuesAt } from '../../../protocol/json-path.ts';

test('paths into the arguments of an event', () => {
  const args = [{ id: 7, 'message id': 'm', 'a"\\b]': 'odd', list: [{ at: 1 }] }, 'second'];
  const cases: [string, unknown][] = [
    ['first argument', args[0]],
    ['$.0.id', 7],
    ['$[0].id', 7],
    ['$[0]["message id"]', 'm'],
    ["$[0]['message id']", 'm'],
    ['$[0]["a\\"\\\\b]"]', 'odd'],
    ['$.0.list[0].at', 1],
    ['$.1', 'second'],
    ['$.2', undefined],
    ['$.0.id.more', undefined],
    ['$.0.toString', undefined],
    ['$.0.__proto__', undefined],
  ];
  for (const [text, expected] of cases) {
    const path = parseJsonPath(text);
    assert.ok(path, text);
    assert.deepEqual(valueAt(args, path), expected, text);
    assert.deepEqual(parseJsonPath(formatJsonPath(path)), path);
  }
});

test('all that stand at a path with *', () => {
  const args = [[{ id: 1, tags: ['a'] }, { id: 2 }, 'x'], { id: 3, by: { k: { id: 4 }, l: { id: 5 } } }];
  const cases: [string, unknown[]][] = [
    ['$.0.*.id', [1, 2]],
    ['$[0][*].id', [1, 2]],
    ['$.*.id', [3]],
    ['$.0.*.tags.*', ['a']],
    ['$.1.by.*.id', [4, 5]],
    ['$.1.id', [3]],
    ['$.1.id.*', []],
    ['$.2.*', []],
  ];
  for (const [text, expected] of cases) {
    const path = parseJsonPath(text);
    assert.ok(path, text);
    assert.deepEqual(valuesAt(args, path), expected, text);
    assert.deepEqual(parseJsonPath(formatJsonPath(path)), path);
  }
});

test('what is no path', () => {
  for (const text of ['', '$', 'id', '$.id', '0.id', '$.0.', '$.0..id', '$[0', '$.0 .id', '$.0[x]', '$.0["\\x"]']) {
    assert.equal(parseJsonPath(text), undefined, text);
  }
});
