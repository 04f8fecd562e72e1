/** Tests that every client reports the same cause for a failed attempt or a closed connection, and that none hangs. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { suite, type TestContext, test } from 'node:test';
import { deflateRawSync } from 'node:zlib';
import type { ClientOptions } from '../../../plugin/fleet/client/client.ts';
import { startChat } from '../../helpers/chat-server.ts';
import { CONNECT_PACKET, OPEN_PACKET, serverFrame, text, upgradeAnswer } from '../../helpers/fake-wire.ts';
import {
  type ClientKindUnderTest,
  lightClient,
  lightPollingClient,
  lightUpgradingClient,
  officialClient,
  pollingClient,
  startClient,
} from '../../helpers/fleet-clients.ts';
import { PEM } from '../../helpers/pem.ts';
import { listen, rawServer, urlOf } from '../../helpers/raw-listen.ts';
import { freePort } from '../../helpers/redis.ts';

const { cert } = PEM;

/**
 * Starts a WebSocket server that sends these frames and then nothing.
 * @param change changes the response to the upgrade
 */
const webSocket =
  (frames: Buffer[], change = (answer: string) => answer) =>
  (t: TestContext) =>
    rawServer(t, (socket, request) => {
      socket.write(change(String(upgradeAnswer(request))));
      for (const frame of frames) socket.write(frame);
    });

/** Starts a server that accepts the main namespace without a request and without a session id. */
function socketIo2Server(t: TestContext): Promise<string> {
  const http = createHttpServer(({ url }, response) => response.end(url?.includes('sid=') ? '40' : OPEN_PACKET));
  http.on('upgrade', ({ headers }, socket) => {
    socket.write(upgradeAnswer(Buffer.from(`Sec-WebSocket-Key: ${headers['sec-websocket-key']}\r\n`)));
    socket.write(text(OPEN_PACKET));
    socket.write(text('40'));
  });
  return urlOf(t, http);
}

const silent = (t: TestContext) => rawServer(t);
const refusing = (answer: string) => (t: TestContext) => rawServer(t, (socket) => socket.end(answer));
const silentNamespace = async (t: TestContext) => (await startChat(t, (io) => io.use(() => {}))).url;
const tlsServer = async (t: TestContext) => (await startChat(t, () => {}, { tls: PEM })).url;
const overTls = (start: Failure[1]) => async (t: TestContext) => (await start(t)).replace('http', 'https');

/** A failed attempt: the fault, the server, the reported cause, and options of the client. */
type Failure = [
  fault: string,
  server: (t: TestContext) => Promise<string>,
  cause: string | RegExp,
  options?: Partial<ClientOptions>,
];

const commonFailures = ({ transports, name }: ClientKindUnderTest): Failure[] => {
  const isPolling = transports[0] === 'polling';
  const unanswered = isPolling || name.startsWith('official') ? 'timeout_open' : 'timeout_upgrade';
  const other = isPolling ? 'not_engineio' : 'http_200';
  const wrongName = { tls: { ca: cert, servername: 'other.example' } };
  const withoutTls = async (t: TestContext) => (await tlsServer(t)).replace('https', 'http');
  return [
    ['a port without a server', async () => `http://127.0.0.1:${await freePort()}`, 'ECONNREFUSED'],
    ['a source address of another machine', silent, 'EADDRNOTAVAIL', { localAddress: '192.0.2.1' }],
    ['an invalid source address', silent, 'ERR_INVALID_IP_ADDRESS', { localAddress: 'x' }],
    ['an invalid URL', async () => 'nonsense', 'ERR_INVALID_URL'],
    ['an HTTP error', refusing('HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n'), 'http_502'],
    ['a server of Socket.IO 2', socketIo2Server, 'socketio_2'],
    ['a connection closed without an answer', refusing(''), 'closed'],
    ['a missing answer', silent, unanswered, SOON],
    ['a namespace that is never answered', silentNamespace, 'timeout_namespace', SOON],
    ['a server of another protocol', refusing('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello'), other],
    ['an untrusted certificate', tlsServer, 'tls_DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['a certificate of another name', tlsServer, 'tls_ERR_TLS_CERT_ALTNAME_INVALID', wrongName],
    ['plain HTTP to a TLS server', withoutTls, /^closed|^http_400/],
    ['TLS to a plain HTTP server', overTls(refusing('HTTP/1.1 400 Bad Request\r\n\r\n')), /^tls_/],
    ['an invalid client certificate', overTls(silent), /^tls_/, { tls: { cert: 'x', key: 'y' } }],
  ];
};

const granting = (grant: string, ...frames: Buffer[]) =>
  webSocket(frames, (answer) => answer.replace('\r\n\r\n', `\r\nSec-WebSocket-Extensions: ${grant}\r\n\r\n`));
const deflated = (body: Buffer) => granting('permessage-deflate', serverFrame(0x41, body));
const wrongKey = (answer: string) => answer.replace('Accept: ', 'Accept: x');
const SOON = { connectTimeoutMs: 100 };
const COMPRESSED = { compression: true };
const open = text(OPEN_PACKET);

const WEBSOCKET_FAILURES: Failure[] = [
  ['an answer that is not HTTP', refusing('SSH-2.0-OpenSSH_9\r\n'), 'not_websocket'],
  ['a wrong accept key', webSocket([], wrongKey), 'not_websocket'],
  ['a silent WebSocket', webSocket([]), 'timeout_open', SOON],
  ['a WebSocket that is closed', webSocket([serverFrame(8, Buffer.from([0x03, 0xf0]))]), 'closed_1008'],
  ['a WebSocket without Engine.IO', webSocket([text('hello')]), 'not_engineio'],
  ['a WebSocket that breaks the protocol', webSocket([Buffer.from([0xff, 0xff])]), 'not_websocket'],
  ['an Engine.IO server without Socket.IO', webSocket([open, text('4hello')]), 'not_socketio'],
  ['a namespace accepted without a session id', webSocket([open, text('40')]), 'socketio_2'],
  ['a server that is silent after the open packet', webSocket([open]), 'timeout_namespace', SOON],
  ['compression that was not requested', granting('permessage-deflate'), 'not_websocket'],
  ['an extension that was not requested', granting('x-deflate'), 'not_websocket', COMPRESSED],
  [
    'a compression window that is too large',
    granting('permessage-deflate; server_max_window_bits=16'),
    'not_websocket',
    COMPRESSED,
  ],
  ['invalid compressed data', deflated(Buffer.alloc(100, 0xff)), 'not_websocket', COMPRESSED],
  [
    'a message that decompresses beyond the limit',
    deflated(deflateRawSync(Buffer.alloc(20_000_000))),
    'message_too_large',
    COMPRESSED,
  ],
];

for (const kind of [lightClient, lightPollingClient, lightUpgradingClient, officialClient, pollingClient]) {
  const isPolling = kind.transports[0] === 'polling';
  const start = (url: string, changes?: Partial<ClientOptions>) => startClient(kind, url, changes);

  suite(kind.name, () => {
    for (const [fault, server, expected, options] of [
      ...commonFailures(kind),
      ...(isPolling ? [] : WEBSOCKET_FAILURES),
    ]) {
      test(`a client reports ${fault} as ${expected}`, async (t) => {
        const { sink } = start(await server(t), options);
        const { cause, message } = await sink.next('failed');
        if (typeof expected === 'string') assert.equal(cause, expected);
        else assert.match(cause, expected);
        assert.ok(message.length > 0);
        assert.equal(sink.reports.filter(({ on }) => !on.startsWith('upgrade')).length, 1);
      });
    }

    test('a client skips a source port that is in use', { skip: kind.name.startsWith('official') }, async (t) => {
      const server = createServer();
      const usedPort = await listen(t, createServer());
      const connected = once(server, 'connection') as Promise<[Socket]>;
      const ports = [usedPort, usedPort];
      const localPort = () => ports.shift() ?? 0;
      const { client } = start(await urlOf(t, server), { localAddress: '127.0.0.1', localPort });
      const [{ remotePort }] = await connected;
      assert.ok(remotePort && remotePort !== usedPort);
      client.destroy();
    });

    test("a client reports the server's message of a refusal", async (t) => {
      const head = 'HTTP/1.1 429 Too Many Requests\r\nLocation: /queue\r\nRetry-After: 60\r\nRateLimit-Limit: 50\r\n';
      const whole = `${head}Content-Length: 15\r\n\r\ncome back later`;
      const chunked = `${head}Transfer-Encoding: chunked\r\n\r\nf\r\ncome back later\r\n0\r\n\r\n`;
      for (const answer of [whole, chunked]) {
        const { cause, message } = await start(await refusing(answer)(t)).sink.next('failed');
        assert.equal(cause, 'http_429');
        assert.match(message, /\/queue, come back later, Retry-After: 60, RateLimit-Limit: 50$/);
      }
    });

    test('a client connects over TLS to a trusted server', async (t) => {
      const url = await tlsServer(t);
      for (const tls of [{ ca: cert }, { ca: cert, servername: 'localhost' }, { rejectUnauthorized: false }]) {
        const { client, sink } = start(url, { tls, localAddress: '127.0.0.3' });
        await sink.next('open');
        client.close();
        assert.equal((await sink.next('closed')).reason, 'io client disconnect');
      }
    });

    if (isPolling) return;

    test('a client reports a refusal of the namespace that is plain text', async (t) => {
      const { sink } = start(await webSocket([open, text('44"no seat"')])(t));
      assert.equal((await sink.next('refused')).message, 'no seat');
    });

    test('a client reports why an open connection was closed', async (t) => {
      const ends: [string, (server: Socket) => void][] = [
        ['transport error', (server) => server.write(Buffer.from([0xff, 0xff]))],
        ['parse error', (server) => server.write(text('4x'))],
        ['transport close', (server) => server.write(serverFrame(8, ''))],
        ['transport close', (server) => server.end()],
        ['transport close', (server) => server.resetAndDestroy()],
      ];
      for (const [reason, end] of ends) {
        let server: Socket | undefined;
        const url = await rawServer(t, (socket, request) => {
          server = socket;
          socket.write(Buffer.concat([upgradeAnswer(request), open, text(CONNECT_PACKET)]));
        });
        const { sink } = start(url);
        await sink.next('open');
        assert.ok(server);
        end(server);
        assert.equal((await sink.next('closed')).reason, reason);
        assert.equal(sink.reports.length, 2);
      }
    });

    test('a client closes its connection if the server stops sending pings', async (t) => {
      const impatient = text('0{"sid":"a","upgrades":[],"pingInterval":50,"pingTimeout":50,"maxPayload":1000000}');
      const { sink } = start(await webSocket([impatient, text(CONNECT_PACKET)])(t));
      assert.equal((await sink.next('closed')).reason, 'ping timeout');
    });
  });
}
