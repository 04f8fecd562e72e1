/**
 * Tests that failures of a polling or upgrading client are reported with a cause, and end at most its own connection.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { suite, type TestContext, test } from 'node:test';
import type { Server } from 'socket.io';
import { MAX_UNSENT_BYTES } from '../../../plugin/fleet/light/sockets/wire.ts';
import { startChat } from '../../helpers/chat-server.ts';
import {
  lightPollingClient,
  lightUpgradingClient,
  pollingClient,
  startClient,
  upgradingClient,
} from '../../helpers/fleet-clients.ts';
import { urlOf } from '../../helpers/raw-listen.ts';

const OPEN = '0{"sid":"a","upgrades":["websocket"],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}';

const answer = (body: string, head = '') =>
  `HTTP/1.1 200 OK\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${head}\r\n${body}`;

/** Starts a server that sends scripted responses in order, over all connections, and then nothing. */
function scriptedServer(t: TestContext, ...answers: ((socket: Socket) => void)[]): Promise<string> {
  const rest = [...answers];
  return urlOf(
    t,
    createServer((socket) => socket.on('data', () => rest.shift()?.(socket))),
  );
}

suite('a polling client', () => {
  test('a polling client reports why an HTTP answer is invalid', async (t) => {
    const cases: [string, string][] = [
      ['not_http', 'SSH-2.0-OpenSSH_9\r\n'],
      ['not_http', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n'],
      ['not_engineio', answer('hello')],
      ['not_engineio', answer('')],
      ['not_engineio', answer('0{"sid":1}')],
      ['not_engineio', answer(`${OPEN}\x1ehello`)],
      ['not_socketio', answer(`${OPEN}\x1e4hello`)],
      ['closed', 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0{'],
      ['closed', answer(`${OPEN}\x1e1`)],
      ['http_502', 'HTTP/1.1 502 Bad Gateway\r\n\r\n<html>'],
      ['message_too_large', `HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(20_000)}`],
      ['message_too_large', 'HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n'],
    ];
    for (const [cause, bytes] of cases) {
      const url = await scriptedServer(t, (socket) => socket.end(bytes));
      const { sink } = startClient(lightPollingClient, url, { maxPayloadBytes: 10_000 });
      assert.equal((await sink.next('failed')).cause, cause, bytes);
      assert.equal(sink.reports.length, 1);
    }
  });

  test('a polling client times out if the body of an HTTP response does not arrive', async (t) => {
    const url = await scriptedServer(t, (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n0'));
    const { sink } = startClient(lightPollingClient, url, { connectTimeoutMs: 100 });
    assert.equal((await sink.next('failed')).cause, 'timeout_open');
  });

  for (const kind of [lightPollingClient, pollingClient]) {
    test(`a polling client reports that another server does not know its session: ${kind.name}`, async (t) => {
      const unknown = 'HTTP/1.1 400 Bad Request\r\nContent-Length: 17\r\n\r\n{"code":1,"a":""}';
      const refuse = (socket: Socket) => socket.end(unknown);
      const { sink } = startClient(
        kind,
        await scriptedServer(t, (socket) => socket.write(answer(OPEN)), refuse, refuse),
      );
      const { cause, message } = await sink.next('failed');
      assert.equal(cause, 'http_400');
      assert.match(message, /"code":1/);
    });
  }

  test('a polling client resends a request once if its kept connection is closed at that moment', async (t) => {
    const posts: string[] = [];
    const url = await urlOf(
      t,
      createServer((socket) =>
        socket.on('data', (data) => {
          const request = String(data);
          if (!request.includes('sid=')) socket.write(answer(OPEN));
          else if (request.startsWith('POST')) {
            posts.push(request.slice(request.indexOf('\r\n\r\n') + 4));
            socket.destroy();
          }
        }),
      ),
    );
    const { sink } = startClient(lightPollingClient, url);
    assert.equal((await sink.next('failed')).cause, 'closed');
    assert.deepEqual(posts, ['40', '40']);
  });

  test('a polling client closes its connection if the server does not answer posts', async (t) => {
    const { client, sink } = startClient(
      lightPollingClient,
      await scriptedServer(t, (socket) => socket.write(answer(`${OPEN}\x1e40{"sid":"s"}`))),
    );
    await sink.next('open');
    const half = 'x'.repeat(MAX_UNSENT_BYTES / 2);
    for (let i = 0; i < 5; i++) client.emit('/', 'large', [Buffer.from(half), Buffer.from(half)]);
    assert.equal((await sink.next('closed')).reason, 'send buffer full');
  });
});

/** Starts a server whose upgrades are handled by `onUpgrade`. */
async function serve(t: TestContext, onUpgrade: (socket: Socket) => void): Promise<string> {
  const hello = (io: Server) => io.on('connection', (socket) => socket.on('hello', (done) => done()));
  const { http, url } = await startChat(t, hello, { pingInterval: 50, pingTimeout: 5000, upgradeTimeout: 100 });
  http.removeAllListeners('upgrade');
  http.on('upgrade', (_request, socket) => onUpgrade(socket as Socket));
  return url;
}

for (const kind of [lightUpgradingClient, upgradingClient]) {
  suite(`an upgrade: ${kind.name}`, () => {
    const refused = 'HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n';
    const ends: [fault: string, end: (socket: Socket) => void, cause: string][] = [
      ['is refused', (socket) => socket.end(refused), 'http_403'],
      ['breaks off', (socket) => socket.destroy(), 'closed'],
    ];
    for (const [fault, end, cause] of ends) {
      test(`a WebSocket upgrade that ${fault} is reported, and the connection stays on polling`, async (t) => {
        const { client, sink } = startClient(kind, await serve(t, end));
        assert.equal((await sink.next('upgrade failed')).cause, cause);
        await sink.next('open');
        client.emit('/', 'hello', [], 1);
        await sink.next('ack');
        assert.deepEqual([client.transport, client.isUpgrading], ['polling', false]);
        client.close();
        assert.equal((await sink.next('closed')).reason, 'io client disconnect');
        assert.equal(sink.all('upgrade failed').length, 1);
      });
    }
  });
}

test('a WebSocket upgrade without an answer is reported', async (t) => {
  const url = await serve(t, () => {});
  const { client, sink } = startClient(lightUpgradingClient, url, { connectTimeoutMs: 100 });
  assert.equal((await sink.next('upgrade failed')).cause, 'timeout_upgrade');
  client.destroy();
});

test('a client that is closed during its upgrade closes on the new transport', async (t) => {
  const { io, url } = await startChat(t);
  const left = once(io, 'connection').then(([socket]) => once(socket, 'disconnect'));
  const { client, sink } = startClient(lightUpgradingClient, url);
  await sink.next('open');
  client.close();
  assert.equal((await sink.next('closed')).reason, 'io client disconnect');
  assert.equal((await left)[0], 'client namespace disconnect');
});
