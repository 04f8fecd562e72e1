/** Tests compression with real Socket.IO servers. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import type { Server } from 'socket.io';
import { startChat } from '../../helpers/chat-server.ts';
import { column } from '../../helpers/columns.ts';
import {
  lightClient,
  lightPollingClient,
  lightUpgradingClient,
  officialClient,
  startClient,
  upgradingClient,
} from '../../helpers/fleet-clients.ts';

const text = (index: number) => `${index} ${'grüße '.repeat(400)}`;

test('a compressed message of the light client has as many bytes as one of socket.io-client', async (t) => {
  const sizes = await Promise.all(
    [lightClient, officialClient].map(async (kind) => {
      const { io, http, url } = await startChat(t, () => {}, { perMessageDeflate: true });
      const accepted = once(http, 'connection') as Promise<[Socket]>;
      const { client, sink } = startClient(kind, url, { compression: true });
      const [[tcp]] = await Promise.all([accepted, sink.next('open')]);
      const [socket] = [...io.of('/').sockets.values()];
      const before = tcp.bytesRead;
      for (const data of ['a'.repeat(900), text(1), text(2)]) {
        client.emit('/', 'sized', [data]);
        await new Promise((resolve) => socket?.once('sized', resolve));
      }
      client.destroy();
      return tcp.bytesRead - before;
    }),
  );
  assert.equal(sizes[0], sizes[1]);
});

const KINDS = [lightClient, lightUpgradingClient, lightPollingClient, officialClient, upgradingClient];
const SERVERS: [string, object | boolean][] = [
  ['grants compression', { threshold: 100 }],
  [
    'grants compression without context takeover',
    { threshold: 100, serverNoContextTakeover: true, clientNoContextTakeover: true },
  ],
  ['grants compression with small windows', { threshold: 100, serverMaxWindowBits: 9, clientMaxWindowBits: 9 }],
  ['grants no compression', false],
];
for (const [name, perMessageDeflate] of SERVERS) {
  test(`all clients exchange messages with a Socket.IO server that ${name}`, async (t) => {
    const echo = (io: Server) =>
      io.on('connection', (socket) => {
        socket.on('echo', (data: unknown, answer: (data: unknown) => void) => {
          answer(data);
          for (let seq = 1; seq <= 3; seq++) {
            socket.emit('broadcast', { seq, sentAtUs: 123456789, worker: 'w2', data: 'x'.repeat(1000) });
          }
        });
      });
    const { url } = await startChat(t, echo, { perMessageDeflate });
    for (const kind of KINDS) {
      const { client, sink } = startClient(kind, url, { compression: true });
      await sink.next('open');
      if (kind.transports.length > 1) await sink.next('upgraded');
      assert.equal(client.isCompressed, perMessageDeflate !== false && kind !== lightPollingClient, kind.name);
      const sent = ['y'.repeat(5000), Buffer.alloc(5000, 7)];
      client.emit('/', 'echo', [sent], 1);
      const [received] = (await sink.next('ack')).args as [[string, Uint8Array]];
      assert.deepEqual([received[0], Buffer.from(received[1])], sent, kind.name);
      await sink.next('copy', 3);
      assert.deepEqual(column(sink.all('copy'), 'id'), [1, 2, 3]);
      client.close();
      await sink.next('closed');
    }
  });
}
