/** A layer of the light client by itself, with a server that knows nothing of Socket.IO. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { WebSocketServer } from 'ws';
import { ConnectionPool } from '../../../plugin/fleet/light/pool.ts';
import { PlainWebSocket } from '../../helpers/lower-layers.ts';
import { clientOptions } from '../../helpers/recording-sink.ts';

test('a bare WebSocket server gets and sends messages of any size, and its pings are answered', async (t) => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', path: '/feed' });
  const pool = new ConnectionPool();
  t.after(() => {
    pool.close();
    for (const socket of server.clients) socket.terminate();
    server.close();
  });
  await once(server, 'listening');
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/feed`;
  const client = new PlainWebSocket(clientOptions({ url }), pool);
  client.connect();
  const { reports } = client;
  const [[socket]] = await Promise.all([once(server, 'connection'), reports.next('open')]);
  for (const message of ['hello', 'ü'.repeat(40_000)]) {
    client.send(message);
    const [data, isBinary] = await once(socket, 'message');
    assert.equal(String(data), message);
    assert.equal(isBinary, false);
  }
  client.send(Buffer.of(1, 2, 3));
  assert.deepEqual(await once(socket, 'message'), [Buffer.of(1, 2, 3), true]);

  socket.send('x'.repeat(200_000));
  socket.send(Buffer.of(9));
  assert.deepEqual(await reports.next('text'), ['x'.repeat(200_000)]);
  assert.deepEqual(await reports.next('binary'), [Buffer.of(9)]);
  socket.ping('beat');
  assert.deepEqual(await once(socket, 'pong'), [Buffer.from('beat')]);
});
