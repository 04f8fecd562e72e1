import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { payload } from '../../../server/contract/payload.ts';

test('has the size asked for, on the wire too', () => {
  for (const size of [0, 1, 1000, 65_536]) {
    assert.equal(payload(size).length, size);
    assert.equal(Buffer.byteLength(JSON.stringify(payload(size))), size + 2);
  }
});

test('varies, so that compression gains little', () => {
  assert.ok(gzipSync(payload(1000)).length > 700);
  assert.ok(new Set(payload(1000)).size > 50);
});

test('is the same text in every call with the same size, also after other sizes', () => {
  const first = payload(500);
  for (let size = 1; size < 40; size++) payload(size);
  assert.equal(payload(500), first);
});
