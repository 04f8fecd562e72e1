/** Each layer of the light client knows only those below it. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const folder = new URL('../../../../plugin/fleet/light/', import.meta.url);

/** Everything that a file of the folder imports from it and from packages, types included, by way of others too. */
function importsOf(name: string, found = new Set<string>()): Set<string> {
  for (const [, target] of readFileSync(new URL(name, folder), 'utf8').matchAll(/from '(?:\.\/)?([\w.-]+)'/g)) {
    if (target === undefined || found.has(target)) continue;
    found.add(target);
    if (target.endsWith('.ts')) importsOf(target, found);
  }
  return found;
}

const SOCKET_IO = ['socket-io.ts', 'codec.ts', 'broadcast.ts', 'clients.ts', 'socket.io-parser'];

test('WebSocket knows nothing of Engine.IO and Socket.IO', () => {
  const imports = importsOf('websocket.ts');
  assert.ok(imports.has('frames.ts') && imports.has('tcp-handle.ts'));
  for (const above of ['engine-io.ts', ...SOCKET_IO]) assert.ok(!imports.has(above), above);
});

test('Engine.IO knows WebSocket, and nothing of Socket.IO', () => {
  const imports = importsOf('engine-io.ts');
  assert.ok(imports.has('websocket.ts'));
  for (const above of SOCKET_IO) assert.ok(!imports.has(above), above);
});
