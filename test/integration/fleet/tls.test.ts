/** Tests TLS of the light client, which uses Node's internal handles. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createSecureContext } from 'node:tls';
import { MAX_UNSENT_BYTES } from '../../../plugin/fleet/light/sockets/wire.ts';
import { startChat } from '../../helpers/chat-server.ts';
import { assertEach } from '../../helpers/columns.ts';
import { lightClient, startClient } from '../../helpers/fleet-clients.ts';
import { PEM } from '../../helpers/pem.ts';
import { listen } from '../../helpers/raw-listen.ts';

const trust = { ca: PEM.cert, servername: 'localhost' };

const startServer = (t: TestContext, options: object = {}) =>
  startChat(t, () => {}, { tls: { ...PEM, ...options }, maxHttpBufferSize: 1e8 });

const start = (url: string, tls: object = trust, connectTimeoutMs = 20_000) =>
  startClient(lightClient, url, { tls, connectTimeoutMs });

/**
 * Opens connections one after the other.
 * @returns their timings
 */
async function connectInTurn(url: string, count: number, tls: object = { ...trust }) {
  const timings = [];
  for (let index = 0; index < count; index++) {
    const { client, sink } = start(url, tls);
    timings.push((await sink.next('open')).timings);
    client.close();
    await sink.next('closed');
  }
  return timings;
}

test('the TLS handshake is timed between TCP and the upgrade, and is a full one by default', async (t) => {
  for (const timings of await connectInTurn((await startServer(t)).url, 3)) {
    const { tcpUs = 0, tlsUs = 0, upgradeUs = 0, tlsResumed } = timings ?? {};
    assert.ok(tcpUs > 0 && tlsUs > tcpUs && upgradeUs > tlsUs, JSON.stringify(timings));
    assert.equal(tlsResumed, false);
  }
});

for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
  test(`each TLS connection resumes an earlier session if configured: ${version}`, async (t) => {
    const { url } = await startServer(t, { maxVersion: version, minVersion: version });
    const timings = await connectInTurn(url, 3, { ...trust, resume: true });
    assertEach(timings, (timing) => timing?.tlsResumed, [false, true, true]);
  });
}

test('a host name is resolved, and the certificate is checked against it', async (t) => {
  const { port } = await startServer(t);
  const { client, sink } = start(`https://localhost:${port}`, { ca: PEM.cert });
  await sink.next('open');
  client.destroy();
});

test('connecting to a server that accepts and stays silent times out in the TLS stage', async (t) => {
  const { sink } = start(`https://127.0.0.1:${await listen(t, createServer())}`, {}, 100);
  assert.equal((await sink.next('failed')).cause, 'timeout_tls');
});

test('a server that closes the connection during the TLS handshake is reported as ECONNRESET', async (t) => {
  const closing = createServer((socket) => socket.once('data', () => socket.end()));
  const { sink } = start(`https://127.0.0.1:${await listen(t, closing)}`);
  assert.equal((await sink.next('failed')).cause, 'ECONNRESET');
  assert.equal(sink.reports.length, 1);
});

test('messages sent together over TLS arrive in order, even if larger than the kernel’s buffers', async (t) => {
  const { io, url } = await startServer(t);
  const sizes: number[] = [];
  const all = new Promise<void>((resolve) => {
    io.on('connection', (socket) =>
      socket.on('size', (body: string) => {
        if (sizes.push(body.length) === 4) resolve();
      }),
    );
  });
  const { client, sink } = start(url);
  await sink.next('open');
  for (const size of [1, 5_000_000, 2, 3]) client.emit('/', 'size', ['x'.repeat(size)]);
  await all;
  assert.deepEqual(sizes, [1, 5_000_000, 2, 3]);
  client.close();
  assert.equal((await sink.next('closed')).reason, 'io client disconnect');
});

test('the client closes a TLS connection when its send buffer is full because the server reads nothing', async (t) => {
  const { http, url } = await startServer(t);
  const accepted = once(http, 'secureConnection') as Promise<[Socket]>;
  const { client, sink } = start(url);
  const [server] = await accepted;
  await sink.next('open');
  server.pause();
  const message = 'x'.repeat(1024 ** 2);
  for (let sent = 0; sent < 3 * MAX_UNSENT_BYTES && sink.all('closed').length === 0; sent += message.length) {
    client.emit('/', 'chat', [message]);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal((await sink.next('closed')).reason, 'send buffer full');
  server.destroy();
});

function hasMlKem(): boolean {
  try {
    createSecureContext({ ecdhCurve: 'X25519MLKEM768' });
    return true;
  } catch {
    return false;
  }
}

test('the client generates no ML-KEM key for servers that choose X25519', {
  skip: !hasMlKem() && 'OpenSSL without ML-KEM',
}, async (t) => {
  const old = await startServer(t, { ecdhCurve: 'X25519' });
  const recent = await startServer(t);
  const servers = [old, old, recent, old];
  const helloBytes: number[] = [];
  const balancer = createServer((socket) => {
    const onward = connect(servers[helloBytes.length]?.port as number, '127.0.0.1');
    socket.once('data', (hello) => helloBytes.push(hello.length));
    socket.pipe(onward).pipe(socket);
    for (const end of [socket, onward]) end.on('error', () => {});
  });
  // Connections with the same options remember which key exchange the server supports.
  await connectInTurn(`https://127.0.0.1:${await listen(t, balancer)}`, servers.length);
  const hasKey = helloBytes.map((bytes) => bytes > 1184); // An ML-KEM key has 1,184 bytes.
  assert.deepEqual(hasKey, [true, false, false, true], helloBytes.join());
});
