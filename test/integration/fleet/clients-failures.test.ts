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
  lightClient,
  lightClientOnSockets,
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

const KINDS = [
  lightClient,
  lightClientOnSockets,
  lightPollingClient,
  lightUpgradingClient,
  officialClient,
  pollingClient,
];
for (const kind of KINDS) {
  const isPolling = kind.transports[0] === 'polling';
  const isLight = kind === lightClient || kind === lightClientOnSockets;
  const start = (url: string, overrides: Partial<ClientOptions> = {}) => {
    const sink = new RecordingSink();
    const options = clientOptions({ url, transports: kind.transports, ...overrides });
    const client = kind.create(0, options, sink);
    client.connect('/');
    return { client, sink };
  };
  const causeOf = async (url: string, overrides: Partial<ClientOptions> = {}) => {
    const { sink } = start(url, overrides);
    const { cause, message } = await sink.next('failed');
    assert.ok(message.length > 0);
    assert.equal(sink.reports.filter(({ on }) => on !== 'upgraded').length, 1);
    return cause;
  };

  suite(kind.name, () => {
    test('nobody listens', async () => {
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      await new Promise((resolve) => server.close(resolve));
      assert.equal(await causeOf(`http://127.0.0.1:${port}`), 'ECONNREFUSED');
    });

    test('a source address that is not ours, or none', async () => {
      const url = await rawServer(() => {});
      assert.equal(await causeOf(url, { localAddress: '192.0.2.1' }), 'EADDRNOTAVAIL');
      assert.equal(await causeOf(url, { localAddress: 'nonsense' }), 'ERR_INVALID_IP_ADDRESS');
    });

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

    test('a URL that is none', async () => {
      assert.equal(await causeOf('nonsense'), 'ERR_INVALID_URL');
    });

    test('an HTTP error', async () => {
      const url = await rawServer((socket) => socket.end('HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n'));
      assert.equal(await causeOf(url), 'http_502');
    });

    test('what the server said when it refused', async () => {
      const answer = [
        'HTTP/1.1 429 Too Many Requests',
        'Location: /queue',
        'Retry-After: 7',
        'Content-Length: 15',
        '',
        'come back later',
      ];
      const { sink } = start(await rawServer((socket) => socket.end(answer.join('\r\n'))));
      assert.deepEqual(await sink.next('failed'), {
        on: 'failed',
        cause: 'http_429',
        message: 'the server answered 429 Too Many Requests, Location: /queue, Retry-After: 7, come back later',
        retryAfterMs: 7000,
      });
      const later = new Date(Date.now() + 60_000).toUTCString();
      const headers = `Retry-After: ${later}\r\nTransfer-Encoding: chunked`;
      const chunked = start(
        await rawServer((socket) => socket.end(`HTTP/1.1 503 Closed\r\n${headers}\r\n\r\n4\r\nbusy\r\n0\r\n\r\n`)),
      );
      const { message, retryAfterMs = 0 } = await chunked.sink.next('failed');
      assert.match(message, /Retry-After: .* GMT, busy/);
      assert.ok(retryAfterMs > 50_000 && retryAfterMs <= 60_000, String(retryAfterMs));
    });

    test('what the server said after the head of its refusal', async () => {
      const url = await rawServer((socket) => {
        socket.write('HTTP/1.1 400 Bad Request\r\nContent-Length: 36\r\n\r\n');
        // In another segment: Node's own server sends both with one call.
        socket.setNoDelay(true);
        setImmediate(() => socket.write('{"code":0,"message":"no such thing"}'));
      });
      const { message } = await start(url).sink.next('failed');
      assert.match(message, /^the server answered 400 Bad Request, \{"code":0,"message":"no such thing"}$/);
    });

    test('a server of Socket.IO 2', async () => {
      const url = await socketIo2Server();
      const { cause, message } = await start(url).sink.next('failed');
      assert.equal(cause, 'not_socketio');
      assert.match(message, /the server speaks Socket\.IO 2, .*: upgrade the server/);
    });

    test('a connection closed without an answer', async () => {
      const url = await rawServer((socket) => socket.end());
      assert.equal(await causeOf(url), 'closed');
    });

    test('no answer', async () => {
      const url = await rawServer(() => {});
      assert.equal(await causeOf(url, { connectTimeoutMs: 100 }), isLight ? 'timeout_upgrade' : 'timeout_open');
    });

    test('a namespace that is never answered', async () => {
      const http = createHttpServer();
      const io = new Server(http);
      io.use(() => {});
      closeAtEnd(() => io.close());
      const url = `http://127.0.0.1:${await listen(http)}`;
      assert.equal(await causeOf(url, { connectTimeoutMs: 100 }), 'timeout_namespace');
    });

    test('a server of something else', async () => {
      const url = await rawServer((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello'));
      assert.equal(await causeOf(url), isPolling ? 'not_engineio' : 'http_200');
    });

    test('TLS', async () => {
      const server = createHttpsServer({ cert, key: pem('key') });
      const io = new Server(server);
      closeAtEnd(() => io.close());
      const url = `https://127.0.0.1:${await listen(server)}`;
      assert.equal(await causeOf(url), 'tls_DEPTH_ZERO_SELF_SIGNED_CERT');
      const wrongName = { ca: cert, servername: 'other.example' };
      assert.equal(await causeOf(url, { tls: wrongName }), 'tls_ERR_TLS_CERT_ALTNAME_INVALID');
      for (const tls of [{ ca: cert }, { ca: cert, servername: 'localhost' }, { rejectUnauthorized: false }]) {
        const { client, sink } = start(url, { tls, localAddress: '127.0.0.3' });
        await sink.next('open');
        client.close();
        assert.equal((await sink.next('closed')).reason, 'io client disconnect');
      }
      assert.match(
        await causeOf(url.replace('https', 'http')),
        isPolling ? /^closed|^http_400/ : /^closed$|^http_400$/,
      );
    });

    test('TLS to a server that has none', async () => {
      const url = await rawServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
      assert.match(await causeOf(url.replace('http', 'https')), /^tls_/);
    });

    test('a certificate that is none', async () => {
      const url = await rawServer(() => {});
      assert.match(await causeOf(url.replace('http', 'https'), { tls: { cert: 'x', key: 'y' } }), /^tls_/);
    });

    if (isPolling) return;

    test('an answer that is not HTTP, or no WebSocket handshake', async () => {
      const notHttp = await rawServer((socket) => socket.end('SSH-2.0-OpenSSH_9\r\n'));
      assert.equal(await causeOf(notHttp), 'not_websocket');
      const wrongAccept = await rawServer((socket, request) =>
        socket.write(upgrade(request.replace('Key: ', 'Key: x'))),
      );
      assert.equal(await causeOf(wrongAccept), 'not_websocket');
    });

    test('a WebSocket that says nothing, closes, or is no Engine.IO', async () => {
      assert.equal(await causeOf(await webSocketServer(), { connectTimeoutMs: 100 }), 'timeout_open');
      assert.equal(await causeOf(await webSocketServer(serverFrame(8, Buffer.from([0x03, 0xf0])))), 'closed_1008');
      assert.equal(await causeOf(await webSocketServer(text('hello'))), 'not_engineio');
      assert.equal(await causeOf(await webSocketServer(Buffer.from([0xff, 0xff]))), 'not_websocket');
    });

    test('an Engine.IO server that is no Socket.IO', async () => {
      assert.equal(await causeOf(await webSocketServer(text(OPEN_PACKET), text('4hello'))), 'not_socketio');
      assert.equal(await causeOf(await webSocketServer(text(OPEN_PACKET), text('40'))), 'not_socketio');
      assert.equal(
        await causeOf(await webSocketServer(text(OPEN_PACKET)), { connectTimeoutMs: 100 }),
        'timeout_namespace',
      );
    });

    const connected = [text(OPEN_PACKET), text('40{"sid":"s"}')];

    test('how an open connection ends', async () => {
      const ends: [string, (server: Socket) => void][] = [
        ['transport error', (server) => server.write(Buffer.from([0xff, 0xff]))],
        ['parse error', (server) => server.write(text('4x'))],
        ['transport close', (server) => server.write(serverFrame(8, ''))],
        ['transport close', (server) => server.end()],
        ['transport close', (server) => server.destroy()],
        ['transport close', (server) => server.resetAndDestroy()],
      ];
      for (const [reason, end] of ends) {
        let server: Socket | undefined;
        const url = await rawServer((socket, request) => {
          server = socket;
          socket.write(Buffer.concat([Buffer.from(upgrade(request)), ...connected]));
        });
        const { sink } = start(url);
        await sink.next('open');
        assert.ok(server);
        end(server);
        assert.equal((await sink.next('closed')).reason, reason);
        assert.equal(sink.reports.length, 2);
      }
    });

    test('compression that was not agreed on, or not kept to', async () => {
      const granting = (grant: string, ...frames: Buffer[]) =>
        rawServer((socket, request) => {
          socket.write(upgrade(request).replace('\r\n\r\n', `\r\nSec-WebSocket-Extensions: ${grant}\r\n\r\n`));
          for (const frame of frames) socket.write(frame);
        });
      const compression = true;
      assert.equal(await causeOf(await granting('permessage-deflate')), 'not_websocket');
      assert.equal(await causeOf(await granting('x-deflate'), { compression }), 'not_websocket');
      assert.equal(
        await causeOf(await granting('permessage-deflate; server_max_window_bits=16'), { compression }),
        'not_websocket',
      );
      const bad = serverFrame(0x41, Buffer.alloc(100, 0xff));
      assert.equal(await causeOf(await granting('permessage-deflate', bad), { compression }), 'not_websocket');
      const control = serverFrame(0x49, '');
      assert.equal(await causeOf(await granting('permessage-deflate', control), { compression }), 'not_websocket');
      const bomb = serverFrame(0x41, deflateRawSync(Buffer.alloc(20_000_000)));
      assert.equal(await causeOf(await granting('permessage-deflate', bomb), { compression }), 'message_too_large');
    });

    test('pings that stop coming', async () => {
      const impatient = text('0{"sid":"a","upgrades":[],"pingInterval":50,"pingTimeout":50,"maxPayload":1000000}');
      const { sink } = start(await webSocketServer(impatient, text('40{"sid":"s"}')));
      assert.equal((await sink.next('closed')).reason, 'ping timeout');
    });
  });
}
