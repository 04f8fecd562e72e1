/** In a process of its own: a version of Node whose streams for zlib have no handle, or one that does something else. */
import assert from 'node:assert/strict';
import { syncBuiltinESMExports } from 'node:module';
import { test } from 'node:test';
import zlib from 'node:zlib';

test('without the handle, the public API inflates and compresses', async (t) => {
  t.mock.method(zlib, 'createInflateRaw', () => ({ close() {}, _handle: { writeSync() {}, reset() {} } }));
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
  const { hasHandle } = await import('../../../../plugin/fleet/light/deflate/zlib-context.ts');
  const { PerMessageDeflate } = await import('../../../../plugin/fleet/light/deflate/per-message-deflate.ts');
  assert.equal(hasHandle(), false);
  const kept = { serverNoContextTakeover: false, clientNoContextTakeover: false };
  const grant = { ...kept, serverMaxWindowBits: 15, clientMaxWindowBits: 15 };
  const [one, other] = [new PerMessageDeflate(grant), new PerMessageDeflate(grant)];
  for (const text of ['hello '.repeat(500), 'hello '.repeat(600)]) {
    const payload = Buffer.from(one.deflate(Buffer.from(text)));
    assert.ok(payload.length < 100);
    assert.equal(String(other.inflate(payload, 0, payload.length, 10_000)), text);
  }
});
