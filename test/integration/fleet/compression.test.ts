/** Compression against real servers: `ws` with all that it can be set to, and Socket.IO. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { after, test } from 'node:test';
import { Server } from 'socket.io';
import { type ServerOptions, type WebSocket, WebSocketServer } from 'ws';
import { ConnectionPool } from '../../../plugin/fleet/light/pool.ts';
import {
  lightClient,
  lightPollingClient,
  lightUpgradingClient,
  officialClient,
  upgradingClient,
} from '../../helpers/fleet-clients.ts';
import { PlainWebSocket } from '../../helpers/lower-layers.ts';
import { clientOptions, RecordingSink } from '../../helpers/recording-sink.ts';

const pool = new ConnectionPool();
const closers = [() => pool.close()];
after(() => {
  for (const close of closers) close();
});

const OFFER = 'permessage-deflate; client_max_window_bits';

async function connected(perMessageDeflate: ServerOptions['perMessageDeflate']) {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate });
  closers.push(() => {
    for (const socket of server.clients) socket.terminate();
    server.close();
  });
  await once(server, 'listening');
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = new PlainWebSocket(clientOptions({ url, compression: true }), pool);
  client.connect();
  const accepted = once(server, 'connection') as Promise<[WebSocket, IncomingMessage]>;
  const [[socket, request]] = await Promise.all([accepted, client.reports.next('open')]);
  assert.equal(request.headers['sec-websocket-extensions'], OFFER);
  return { client, reports: client.reports, socket };
}

const text = (index: number) => `${index} ${'grüße '.repeat(400)}`;

test('a bare WebSocket server, whatever it grants: messages of both sides arrive, compressed', async () => {
  const bits = [undefined, 9, 12];
  for (const serverNoContextTakeover of [false, true]) {
    for (const clientNoContextTakeover of [false, true]) {
      for (const windowBits of bits) {
        const grant = {
          serverNoContextTakeover,
          clientNoContextTakeover,
          ...(windowBits && { serverMaxWindowBits: windowBits, clientMaxWindowBits: windowBits }),
          threshold: 100,
        };
        const { client, reports, socket } = await connected(grant);
        const label = JSON.stringify(grant);
        const { receivedBytes, sentBytes } = reports;
        for (let index = 0; index < 3; index++) {
          client.send(text(index));
          assert.equal(String((await once(socket, 'message'))[0]), text(index), label);
          socket.send(text(index));
          // In fragments, with a ping between them.
          socket.send(text(index), { fin: false });
          socket.ping();
          socket.send('x'.repeat(1000));
        }
        socket.send('end');
        await reports.next('text', 7);
        const expected = [0, 1, 2].flatMap((index) => [text(index), `${text(index)}${'x'.repeat(1000)}`]);
        assert.deepEqual(
          reports.all.slice(1).map(([, received]) => received),
          [...expected, 'end'],
          label,
        );
        assert.ok(reports.receivedBytes - receivedBytes < 1500, `${label}: received without compression`);
        assert.ok(reports.sentBytes - sentBytes < 1500, `${label}: sent without compression`);
        socket.terminate();
      }
    }
  }
});

test('a server that grants nothing is spoken to without compression', async () => {
  const { client, reports, socket } = await connected(false);
  client.send(text(1));
  assert.equal(String((await once(socket, 'message'))[0]), text(1));
  assert.ok(reports.sentBytes > text(1).length);
});

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
      assert.deepEqual(
        sink.all('copy').map(({ id }) => id),
        [1, 2, 3],
      );
      client.close();
      await sink.next('closed');
    }
  });
}
