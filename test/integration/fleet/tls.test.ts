/** TLS as the light client speaks it, on Node's handles. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createHttpsServer, type ServerOptions } from 'node:https';
import { type AddressInfo, connect, createServer, type Server as NetServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createSecureContext } from 'node:tls';
import { Server } from 'socket.io';
import { MAX_UNSENT_BYTES } from '../../../plugin/fleet/light/sockets/wire.ts';
import { assertEach } from '../../helpers/columns.ts';
import { lightClient } from '../../helpers/fleet-clients.ts';
import { clientOptions, RecordingSink } from '../../helpers/recording-sink.ts';

const pem = (name: string) => readFileSync(new URL(`../../fixtures/tls/${name}.pem`, import.meta.url), 'utf8');
const trust = { ca: pem('cert'), servername: 'localhost' };

async function portOf(server: NetServer): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

async function startServer(t: TestContext, options: ServerOptions = {}) {
  const http = createHttpsServer({ cert: pem('cert'), key: pem('key'), ...options });
  const io = new Server(http, { maxHttpBufferSize: 1e8 });
  t.after(() => io.close());
  return { http, io, port: await portOf(http) };
}

const start = (url: string, tls: object = trust, connectTimeoutMs = 20_000) => {
  const sink = new RecordingSink();
  const client = lightClient.create(0, clientOptions({ url, tls, connectTimeoutMs }), sink);
  client.connect('/');
  return { client, sink };
};

/** Opens three connections, one after the other. @returns their timings */
const connectThree = async (t: TestContext, tls: object, server?: ServerOptions) => {
  const { port } = await startServer(t, server);
  const options = { ...trust, ...tls };
  const timings = [];
  for (let count = 0; count < 3; count++) {
    const { client, sink } = start(`https://127.0.0.1:${port}`, options);
    timings.push((await sink.next('open')).timings);
    client.close();
    await sink.next('closed');
  }
  return timings;
};

test('the handshake is a stage between TCP and the upgrade, and a full one by default', async (t) => {
  for (const timings of await connectThree(t, {})) {
    const { tcpUs = 0, tlsUs = 0, upgradeUs = 0, tlsResumed } = timings ?? {};
    assert.ok(tcpUs > 0 && tlsUs > tcpUs && upgradeUs > tlsUs, JSON.stringify(timings));
    assert.equal(tlsResumed, false);
  }
});

for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
  test(`where asked for, each connection resumes the session of an earlier one: ${version}`, async (t) => {
    const timings = await connectThree(t, { resume: true }, { maxVersion: version, minVersion: version });
    assertEach(timings, (one) => one?.tlsResumed, [false, true, true]);
  });
}

test('a host name is looked up, and the certificate checked for it', async (t) => {
  const { port } = await startServer(t);
  const { client, sink } = start(`https://localhost:${port}`, { ca: pem('cert') });
  await sink.next('open');
  client.destroy();
});

test('a server that accepts and stays silent is given up in that stage', async (t) => {
  const silent = createServer();
  t.after(() => silent.close());
  const { sink } = start(`https://127.0.0.1:${await portOf(silent)}`, {}, 100);
  assert.equal((await sink.next('failed')).cause, 'timeout_tls');
});

test('a server that hangs up during the handshake', async (t) => {
  const rude = createServer((socket) => socket.once('data', () => socket.end()));
  t.after(() => rude.close());
  const { sink } = start(`https://127.0.0.1:${await portOf(rude)}`);
  assert.equal((await sink.next('failed')).cause, 'ECONNRESET');
  assert.equal(sink.reports.length, 1);
});

test('messages of one moment arrive in their order, also larger than the kernel’s buffers', async (t) => {
  const { io, port } = await startServer(t);
  const sizes: number[] = [];
  const all = new Promise<void>((resolve) => {
    io.on('connection', (socket) =>
      socket.on('size', (body: string) => {
        if (sizes.push(body.length) === 4) resolve();
      }),
    );
  });
  const { client, sink } = start(`https://127.0.0.1:${port}`);
  await sink.next('open');
  for (const size of [1, 5_000_000, 2, 3]) client.emit('/', 'size', ['x'.repeat(size)]);
  await all;
  assert.deepEqual(sizes, [1, 5_000_000, 2, 3]);
  client.close();
  assert.equal((await sink.next('closed')).reason, 'io client disconnect');
});

test('a connection whose server reads nothing ends when too much waits for it', async (t) => {
  const { http, port } = await startServer(t);
  const accepted = once(http, 'secureConnection') as Promise<[Socket]>;
  const { client, sink } = start(`https://127.0.0.1:${port}`);
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

test('no ML-KEM key is made for servers that choose X25519', {
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
  t.after(() => balancer.close());
  const url = `https://127.0.0.1:${await portOf(balancer)}`;
  const tls = { ...trust }; // connections with the same options learn from each other
  for (const _ of servers) {
    const sink = new RecordingSink();
    const client = lightClient.create(0, clientOptions({ url, tls }), sink);
    client.connect('/');
    await sink.next('open');
    client.close();
    await sink.next('closed');
  }
  const hasKey = helloBytes.map((bytes) => bytes > 1184); // the size of such a key
  assert.deepEqual(hasKey, [true, false, false, true], helloBytes.join());
});
