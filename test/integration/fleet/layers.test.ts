/** The light client's layers in other compositions than the fleet's: a bare WebSocket, and another Socket.IO parser. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { after, test } from 'node:test';
import { Server } from 'socket.io';
import { WebSocketServer } from 'ws';
import { LightClients } from '../../../plugin/fleet/light/clients.ts';
import { ConnectionPool } from '../../../plugin/fleet/light/pool.ts';
import { jsonCodec, jsonParser } from '../../helpers/json-codec.ts';
import { PlainWebSocket } from '../../helpers/lower-layers.ts';
import { clientOptions, RecordingSink } from '../../helpers/recording-sink.ts';

const pool = new ConnectionPool();
const jsonClients = new LightClients(undefined, jsonCodec);
const closers = [() => pool.close(), () => jsonClients.close()];
after(() => {
  for (const close of closers) close();
});

async function bareServer() {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', path: '/feed' });
  closers.push(() => {
    for (const socket of server.clients) socket.terminate();
    server.close();
  });
  await once(server, 'listening');
  return { server, url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}/feed` };
}

/** A WebSocket that is open on both sides. */
async function connected() {
  const { server, url } = await bareServer();
  const client = new PlainWebSocket(clientOptions({ url }), pool);
  client.connect();
  const [[socket]] = await Promise.all([once(server, 'connection'), client.reports.next('open')]);
  return { client, reports: client.reports, socket };
}

test('a bare WebSocket server gets and sends messages of any size, and its pings are answered', async () => {
  const { client, reports, socket } = await connected();
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

test('a bare WebSocket ends from either side', async () => {
  const first = await connected();
  first.client.close();
  const [[code]] = await Promise.all([once(first.socket, 'close'), first.reports.next('left')]);
  assert.equal(code, 1005);

  const second = await connected();
  second.socket.close(4001, 'enough');
  const [[answer], reason] = await Promise.all([once(second.socket, 'close'), second.reports.next('closed')]);
  assert.equal(answer, 4001);
  assert.deepEqual(reason, ['transport close']);
});

test('what stops a bare WebSocket, by the clock of its pool too', async () => {
  const { url } = await bareServer();
  const mute = createTcpServer().listen(0, '127.0.0.1');
  closers.push(() => mute.close());
  await once(mute, 'listening');
  const cases: [string, string][] = [
    ['http_400', `${url}/elsewhere`],
    ['timeout_upgrade', `ws://127.0.0.1:${(mute.address() as AddressInfo).port}`],
    ['ERR_INVALID_URL', 'nonsense'],
  ];
  for (const [cause, target] of cases) {
    const client = new PlainWebSocket(clientOptions({ url: target, connectTimeoutMs: 100 }), pool);
    client.connect();
    assert.deepEqual(await client.reports.next('failed'), [cause]);
  }
});

test('a Socket.IO server with another parser', async () => {
  const http = createServer();
  const io = new Server(http, { parser: jsonParser });
  closers.push(() => io.close());
  io.on('connection', (socket) => {
    socket.on('hello', (name: string, answer: (text: string) => void) => {
      answer(`hello ${name}`);
      io.emit('broadcast', { seq: 1, sentAtUs: 2, worker: 'w', data: 'x' });
    });
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const sink = new RecordingSink();
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const client = jsonClients.create(0, clientOptions({ url }), sink);
  client.connect('/');
  await sink.next('open');
  client.emit('/', 'hello', ['you'], 1);
  assert.deepEqual((await sink.next('ack')).args, ['hello you']);
  assert.partialDeepStrictEqual(await sink.next('copy'), { id: 1 });
  client.close();
  assert.equal((await sink.next('closed')).reason, 'io client disconnect');
});
