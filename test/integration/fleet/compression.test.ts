/** Compression against real Socket.IO servers. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { after, test } from 'node:test';
import { Server } from 'socket.io';
import { column } from '../../helpers/columns.ts';
import {
  lightClient,
  lightPollingClient,
  lightUpgradingClient,
  officialClient,
  upgradingClient,
} from '../../helpers/fleet-clients.ts';
import { clientOptions, RecordingSink } from '../../helpers/recording-sink.ts';

const closers: (() => void)[] = [];
after(() => {
  for (const close of closers) close();
});

const text = (index: number) => `${index} ${'grüße '.repeat(400)}`;

test('the bytes of a compressed message are those of socket.io-client', async () => {
  const sizes = await Promise.all(
    [lightClient, officialClient].map(async (kind) => {
      const http = createServer();
      const io = new Server(http, { perMessageDeflate: true });
      closers.push(() => io.close());
      http.listen(0, '127.0.0.1');
      await once(http, 'listening');
      const sink = new RecordingSink();
      const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
      const client = kind.create(0, clientOptions({ url, compression: true }), sink);
      const accepted = once(http, 'connection') as Promise<[Socket]>;
      client.connect('/');
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
  ['grants', { threshold: 100 }],
  ['grants no context', { threshold: 100, serverNoContextTakeover: true, clientNoContextTakeover: true }],
  ['grants small windows', { threshold: 100, serverMaxWindowBits: 9, clientMaxWindowBits: 9 }],
  ['grants nothing', false],
];
for (const [name, perMessageDeflate] of SERVERS) {
  test(`a Socket.IO server that ${name}`, async () => {
    const http = createServer();
    const io = new Server(http, { perMessageDeflate });
    closers.push(() => io.close());
    io.on('connection', (socket) => {
      socket.on('echo', (data: unknown, answer: (data: unknown) => void) => {
        answer(data);
        for (let seq = 1; seq <= 3; seq++) {
          socket.emit('broadcast', { seq, sentAtUs: 123456789, worker: 'w2', data: 'x'.repeat(1000) });
        }
      });
    });
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
    for (const kind of KINDS) {
      const sink = new RecordingSink();
      const options = { url, transports: kind.transports, compression: true };
      const client = kind.create(0, clientOptions(options), sink);
      client.connect('/');
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
