/** Each layer of the light client knows only those below it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readImports } from '../../../helpers/imports.ts';

const FOLDER = 'plugin/fleet/light/';
const files = readImports(['plugin/fleet/light']);

/** Every file of the folder that the file imports, types included, by way of others too. */
function importsOf(name: string, found = new Set<string>()): Set<string> {
  for (const { target } of files.get(FOLDER + name) ?? []) {
    const imported = target.slice(FOLDER.length);
    if (!target.startsWith(FOLDER) || found.has(imported)) continue;
    found.add(imported);
    importsOf(imported, found);
  }
  return found;
}

const SOCKET_IO = [
  'socket-io/socket-io.ts',
  'socket-io/reader.ts',
  'socket-io/codec.ts',
  'in-place/event-reader.ts',
  'clients.ts',
];

for (const name of SOCKET_IO) assert.ok(files.has(FOLDER + name), name);

test('WebSocket knows nothing of Engine.IO and Socket.IO', () => {
  const imports = importsOf('websocket/websocket.ts');
  assert.ok(imports.has('websocket/frames.ts') && imports.has('sockets/wire.ts'));
  for (const above of ['engine-io/engine-io.ts', ...SOCKET_IO]) assert.ok(!imports.has(above), above);
});

test('Engine.IO knows WebSocket, and nothing of Socket.IO', () => {
  const imports = importsOf('engine-io/engine-io.ts');
  assert.ok(imports.has('websocket/websocket.ts'));
  for (const above of SOCKET_IO) assert.ok(!imports.has(above), above);
});
