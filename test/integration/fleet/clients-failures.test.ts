/** What stops or ends a connection has the same name with either client, and nothing hangs. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { suite, test } from 'node:test';
import { deflateRawSync } from 'node:zlib';
import { Server } from 'socket.io';
import type { ClientOptions } from '../../../plugin/fleet/client/client.ts';
import { OPEN_PACKET, serverFrame, text } from '../../helpers/fake-wire.ts';
import {
  type ClientKindUnderTest,
  lightClient,
  lightPollingClient,
  lightUpgradingClient,
  officialClient,
  pollingClient,
} from '../../helpers/fleet-clients.ts';
import { closeAtEnd, listen } from '../../helpers/raw-listen.ts';
import { clientOptions, RecordingSink } from '../../helpers/recording-sink.ts';

const pem = (name: string) => readFileSync(new URL(`../../fixtures/tls/${name}.pem`, import.meta.url), 'utf8');
const cert = pem('cert');

/** A server that speaks raw bytes. @returns its URL */
async function rawServer(onRequest: (socket: Socket, request: string) => void): Promise<string> {
  const server = createServer((socket) => socket.once('data', (data) => onRequest(socket, String(data))));
  return `http://127.0.0.1:${await listen(server)}`;
}

function upgrade(request: string): string {
  const key = /Sec-WebSocket-Key: (.*)\r\n/i.exec(request)?.[1];
  const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
  return `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`;
}

/** A WebSocket server that sends these frames and then keeps silent. */
function webSocketServer(...frames: Buffer[]): Promise<string> {
  return rawServer((socket, request) => {
    socket.write(upgrade(request));
    for (const frame of frames) socket.write(frame);
  });
}

/** It accepts the main namespace by itself, without a session id. */
async function socketIo2Server(): Promise<string> {
  const http = createHttpServer((request, response) => {
    const isFirst = !request.url?.includes('sid=');
    response.end(isFirst ? OPEN_PACKET : '40');
  });
  http.on('upgrade', (request, socket) => {
    socket.write(upgrade(`Sec-WebSocket-Key: ${request.headers['sec-websocket-key']}\r\n`));
    socket.write(text(OPEN_PACKET));
    socket.write(text('40'));
  });
  return `http://127.0.0.1:${await listen(http)}`;
}

const refusing = (answer: string) => rawServer((socket) => socket.end(answer));

async function closedPort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}

function silentNamespace(): Promise<string> {
  const http = createHttpServer();
  const io = new Server(http);
  io.use(() => {});
  closeAtEnd(() => io.close());
  return listen(http).then((port) => `http://127.0.0.1:${port}`);
}

async function tlsServer(): Promise<string> {
  const server = createHttpsServer({ cert, key: pem('key') });
  const io = new Server(server);
  closeAtEnd(() => io.close());
  return `https://127.0.0.1:${await listen(server)}`;
}

const overTls = async (url: Promise<string>) => (await url).replace('http', 'https');

/** What stops an attempt: by which server, under which name, and with which options. */
type Stop = [what: string, server: () => Promise<string>, cause: string | RegExp, options?: Partial<ClientOptions>];

const stops = ({ transports, name }: ClientKindUnderTest): Stop[] => {
  const isPolling = transports[0] === 'polling';
  const unanswered = isPolling || name.startsWith('official') ? 'timeout_open' : 'timeout_upgrade';
  const connectTimeoutMs = 100;
  return [
    ['nobody listens', closedPort, 'ECONNREFUSED'],
    ['a source address that is not ours', () => rawServer(() => {}), 'EADDRNOTAVAIL', { localAddress: '192.0.2.1' }],
    ['a source address that is none', () => rawServer(() => {}), 'ERR_INVALID_IP_ADDRESS', { localAddress: 'x' }],
    ['a URL that is none', async () => 'nonsense', 'ERR_INVALID_URL'],
    ['an HTTP error', () => refusing('HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n'), 'http_502'],
    ['a server of Socket.IO 2', socketIo2Server, 'not_socketio'],
    ['a connection closed without an answer', () => refusing(''), 'closed'],
    ['no answer', () => rawServer(() => {}), unanswered, { connectTimeoutMs }],
    ['a namespace that is never answered', silentNamespace, 'timeout_namespace', { connectTimeoutMs }],
    [
      ...(['something else', () => refusing('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello')] as const),
      isPolling ? 'not_engineio' : 'http_200',
    ],
    ['a certificate nobody vouches for', tlsServer, 'tls_DEPTH_ZERO_SELF_SIGNED_CERT'],
    [
      ...(['a certificate of another name', tlsServer, 'tls_ERR_TLS_CERT_ALTNAME_INVALID'] as const),
      { tls: { ca: cert, servername: 'other.example' } },
    ],
    ['no TLS to a server that has it', async () => (await tlsServer()).replace('https', 'http'), /^closed|^http_400/],
    ['TLS to a server that has none', () => overTls(refusing('HTTP/1.1 400 Bad Request\r\n\r\n')), /^tls_/],
    [
      ...(['a certificate that is none', () => overTls(rawServer(() => {})), /^tls_/] as const),
      { tls: { cert: 'x', key: 'y' } },
    ],
  ];
};

const granting = (grant: string, ...frames: Buffer[]) =>
  rawServer((socket, request) => {
    socket.write(upgrade(request).replace('\r\n\r\n', `\r\nSec-WebSocket-Extensions: ${grant}\r\n\r\n`));
    for (const frame of frames) socket.write(frame);
  });
const compression = true;
const open = text(OPEN_PACKET);

const WEBSOCKET_STOPS: Stop[] = [
  ['an answer that is not HTTP', () => refusing('SSH-2.0-OpenSSH_9\r\n'), 'not_websocket'],
  [
    'a wrong accept key',
    () => rawServer((socket, request) => socket.write(upgrade(request.replace('Key: ', 'Key: x')))),
    'not_websocket',
  ],
  ['a WebSocket that says nothing', () => webSocketServer(), 'timeout_open', { connectTimeoutMs: 100 }],
  ['one that closes', () => webSocketServer(serverFrame(8, Buffer.from([0x03, 0xf0]))), 'closed_1008'],
  ['one that is no Engine.IO', () => webSocketServer(text('hello')), 'not_engineio'],
  ['one that breaks the protocol', () => webSocketServer(Buffer.from([0xff, 0xff])), 'not_websocket'],
  ['an Engine.IO server that is no Socket.IO', () => webSocketServer(open, text('4hello')), 'not_socketio'],
  ['one that accepts without a session', () => webSocketServer(open, text('40')), 'not_socketio'],
  ['one that says nothing more', () => webSocketServer(open), 'timeout_namespace', { connectTimeoutMs: 100 }],
  ['compression that was not asked for', () => granting('permessage-deflate'), 'not_websocket'],
  ['an extension that was not asked for', () => granting('x-deflate'), 'not_websocket', { compression }],
  [
    ...(['a window that is too large', () => granting('permessage-deflate; server_max_window_bits=16')] as const),
    'not_websocket',
    { compression },
  ],
  [
    'what is not compressed',
    () => granting('permessage-deflate', serverFrame(0x41, Buffer.alloc(100, 0xff))),
    'not_websocket',
    { compression },
  ],
  [
    'what gets too large',
    () => granting('permessage-deflate', serverFrame(0x41, deflateRawSync(Buffer.alloc(20_000_000)))),
    'message_too_large',
    { compression },
  ],
];

for (const kind of [lightClient, lightPollingClient, lightUpgradingClient, officialClient, pollingClient]) {
  const isPolling = kind.transports[0] === 'polling';
  const start = (url: string, overrides: Partial<ClientOptions> = {}) => {
    const sink = new RecordingSink();
    const options = clientOptions({ url, transports: kind.transports, ...overrides });
    const client = kind.create(0, options, sink);
    client.connect('/');
    return { client, sink };
  };

  suite(kind.name, () => {
    for (const [what, server, expected, options] of [...stops(kind), ...(isPolling ? [] : WEBSOCKET_STOPS)]) {
      test(what, async () => {
        const { sink } = start(await server(), options);
        const { cause, message } = await sink.next('failed');
        if (typeof expected === 'string') assert.equal(cause, expected);
        else assert.match(cause, expected);
        assert.ok(message.length > 0);
        assert.equal(sink.reports.filter(({ on }) => on !== 'upgraded').length, 1);
      });
    }

    test('a source port of ours that is taken', { skip: kind.name.startsWith('official') }, async () => {
      const [server, other] = [createServer(), createServer()];
      const taken = await listen(other);
      const url = `http://127.0.0.1:${await listen(server)}`;
      const connected = once(server, 'connection') as Promise<[Socket]>;
      const ports = [taken, taken];
      const { client } = start(url, { localAddress: '127.0.0.1', localPort: () => ports.shift() ?? 0 });
      const [{ remotePort }] = await connected;
      assert.ok(remotePort && remotePort !== taken);
      client.destroy();
    });

    test('what the server said when it refused', async () => {
      const head = 'HTTP/1.1 429 Too Many Requests\r\nLocation: /queue\r\n';
      const whole = `${head}Content-Length: 15\r\n\r\ncome back later`;
      const chunked = `${head}Transfer-Encoding: chunked\r\n\r\nf\r\ncome back later\r\n0\r\n\r\n`;
      for (const answer of [whole, chunked]) {
        const { cause, message } = await start(await refusing(answer)).sink.next('failed');
        assert.equal(cause, 'http_429');
        assert.match(message, /\/queue, come back later$/);
      }
    });

    test('TLS to a server that is trusted', async () => {
      const url = await tlsServer();
      for (const tls of [{ ca: cert }, { ca: cert, servername: 'localhost' }, { rejectUnauthorized: false }]) {
        const { client, sink } = start(url, { tls, localAddress: '127.0.0.3' });
        await sink.next('open');
        client.close();
        assert.equal((await sink.next('closed')).reason, 'io client disconnect');
      }
    });

    if (isPolling) return;

    test('how an open connection ends', async () => {
      const ends: [string, (server: Socket) => void][] = [
        ['transport error', (server) => server.write(Buffer.from([0xff, 0xff]))],
        ['parse error', (server) => server.write(text('4x'))],
        ['transport close', (server) => server.write(serverFrame(8, ''))],
        ['transport close', (server) => server.end()],
        ['transport close', (server) => server.resetAndDestroy()],
      ];
      for (const [reason, end] of ends) {
        let server: Socket | undefined;
        const url = await rawServer((socket, request) => {
          server = socket;
          socket.write(Buffer.concat([Buffer.from(upgrade(request)), open, text('40{"sid":"s"}')]));
        });
        const { sink } = start(url);
        await sink.next('open');
        assert.ok(server);
        end(server);
        assert.equal((await sink.next('closed')).reason, reason);
        assert.equal(sink.reports.length, 2);
      }
    });

    test('pings that stop coming', async () => {
      const impatient = text('0{"sid":"a","upgrades":[],"pingInterval":50,"pingTimeout":50,"maxPayload":1000000}');
      const { sink } = start(await webSocketServer(impatient, text('40{"sid":"s"}')));
      assert.equal((await sink.next('closed')).reason, 'ping timeout');
    });
  });
}
