/** Tests that every client sends the same data to a Socket.IO server, and reports the same events. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { after, beforeEach, suite, test } from 'node:test';
import type { Socket } from 'socket.io';
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { startChat } from '../../helpers/chat-server.ts';
import {
  type ClientKindUnderTest,
  lightClient,
  lightPollingClient,
  lightUpgradingClient,
  officialClient,
  pollingClient,
  startClient,
  upgradingClient,
} from '../../helpers/fleet-clients.ts';
import type { RecordingSink } from '../../helpers/recording-sink.ts';

const OTHERS = [lightPollingClient, lightUpgradingClient, officialClient, pollingClient, upgradingClient];

/** Log of the data that the server received, in order. */
class ServerLog extends EventEmitter {
  entries: unknown[][] = [];

  add(...entry: unknown[]): void {
    this.entries.push(entry);
    this.emit('entry');
  }

  async until(kind: string, count = 1): Promise<void> {
    while (this.entries.filter(([logged]) => logged === kind).length < count) await once(this, 'entry');
  }
}

const log = new ServerLog();

function record(namespace: string) {
  return (socket: Socket) => {
    const { auth, query, headers } = socket.handshake;
    log.add('connection', namespace, auth, query.token, headers['x-id']);
    socket.onAny((event, ...args) => {
      const answer = typeof args.at(-1) === 'function' ? args.pop() : undefined;
      log.add('event', namespace, event, args, answer !== undefined);
      answer?.(event, ...args);
      if (event === 'send me') socket.emit(...(args as [string, ...unknown[]]));
      if (event === 'ask me')
        for (const question of ['question', 'unawaited'])
          socket.emit(question, 1, (...answer: unknown[]) => log.add('answered', namespace, answer));
      if (event === 'kick me') socket.disconnect(args[0]);
    });
    socket.on('disconnect', (reason) => log.add('disconnect', namespace, reason));
  };
}

const { url } = await startChat(
  { after },
  (io) => {
    io.engine.on('connection', (session) => {
      session.on('close', () => log.add('transport closed'));
      // Time for which Engine.IO waits for another poll, even if the client has already closed.
      session.transport.closeTimeout = 100;
    });
    for (const namespace of ['/', '/chat', '/members']) io.of(namespace).on('connection', record(namespace));
    io.of('/members').use((socket, next) => {
      if (socket.handshake.auth.password === 'open sesame') next();
      else next(Object.assign(new Error('wrong password'), { data: { hint: 'ask Ali' } }));
    });
  },
  // The server compresses messages for clients that request it.
  { pingInterval: 100, pingTimeout: 5000, maxHttpBufferSize: 1e7, perMessageDeflate: true },
);

beforeEach(() => {
  log.entries = [];
});

/**
 * Plays a whole session of a client.
 * @returns the log of the server and the reports of the client
 */
async function playSession(kind: ClientKindUnderTest, compression: boolean) {
  const { client, sink } = startClient(kind, url, {
    ...{ compression, query: { token: 'a b&c' }, headers: { 'X-Id': '7' } },
    ...{ auth: { password: 'open sesame' }, acknowledge: ['yes', { n: 1 }] },
  });
  client.interest = new Set(['plain', 'blob', 'question']);

  const open = await sink.next('open');
  assert.ok(open.sessionId.length > 0);
  assert.ok(open.timings && open.timings.namespaceUs >= (open.timings.openUs ?? 0));
  client.connect('/members');
  await sink.next('open', 2);
  client.connect('/chat');
  await sink.next('open', 3);

  client.emit('/', 'hello', [1, 'grüße 🎉', { deep: [null, true] }]);
  client.emit('/chat', 'numbered', ['x'], 2 ** 40);
  await sink.next('ack');
  client.emit('/', 'binary', [Buffer.from([0, 1, 255]), { inside: Buffer.from('b') }], 8);
  await sink.next('ack', 2);
  client.emit('/', 'send me', ['plain', 'y'.repeat(70_000), { n: 1.5 }]);
  await sink.next('event');
  client.emit('/chat', 'send me', ['blob', Buffer.from([9, 8, 7]), 'and text']);
  await sink.next('event', 2);
  client.emit('/', 'send me', ['unwanted', 'payload']);
  client.emit('/', 'ask me', []);
  await sink.next('event', 3);
  await log.until('answered', 2);
  client.emit('/chat', 'ask me', []);
  await log.until('answered', 4);
  client.emit('/', 'send me', ['broadcast', { seq: 5, sentAtUs: 123456789, worker: 'w2', data: 'x'.repeat(1000) }]);
  const broadcast = await sink.next('copy');
  assert.ok(Math.abs(monotonicUs() - broadcast.receivedAtUs) < 5_000_000);
  client.emit('/', 'send me', ['broadcast', { seq: 6, sentAtUs: 1, worker: 'w2', data: Buffer.from([0, 255]) }]);
  await sink.next('copy', 2);
  client.emit('/', 'send me', ['broadcast', { other: 'shape' }]);
  await sink.next('unreadable');
  client.emit('/chat', 'kick me', [false]);
  await sink.next('closed');
  client.emit('/chat', 'not connected any more', []);
  client.emit('/', 'still here', ['z'.repeat(2000)], 9);
  await sink.next('ack', 3);
  assert.equal(client.isCompressed, compression && kind.transports.includes('websocket'), kind.name);
  client.close();
  await sink.next('closed', 2);
  await log.until('disconnect', 3);
  return { log: log.entries.filter(([kind]) => kind !== 'transport closed'), reports: comparable(sink) };
}

function withoutUpgrades({ reports }: RecordingSink) {
  return reports.filter(({ on }) => on !== 'upgraded');
}

/** Removes fields that differ between runs. Buffers and Uint8Arrays are compared by their bytes. */
function comparable(sink: RecordingSink): unknown[] {
  return withoutUpgrades(sink).map((report) =>
    JSON.parse(
      JSON.stringify(report, (key, value) =>
        ['sessionId', 'timings', 'receivedAtUs', 'example'].includes(key) ? undefined : value,
      ),
    ),
  );
}

test('all kinds of clients send and report the same, with and without compression', async () => {
  const light = await playSession(lightClient, false);
  for (const compression of [false, true]) {
    for (const kind of compression ? [lightClient, ...OTHERS] : OTHERS) {
      log.entries = [];
      const other = await playSession(kind, compression);
      assert.deepEqual(other.log, light.log, kind.name);
      assert.deepEqual(other.reports, light.reports, kind.name);
    }
  }
  assert.deepEqual(
    light.log.filter(([kind]) => kind === 'answered'),
    ['/', '/', '/chat', '/chat'].map((namespace) => ['answered', namespace, ['yes', { n: 1 }]]),
  );
  assert.deepEqual(light.log[0], ['connection', '/', { password: 'open sesame' }, 'a b&c', '7']);
  assert.deepEqual(light.log.slice(-2), [
    ['disconnect', '/', 'client namespace disconnect'],
    ['disconnect', '/members', 'client namespace disconnect'],
  ]);
});

for (const kind of [lightClient, ...OTHERS]) {
  suite(kind.name, () => {
    const start = (namespace: string, changes = {}) => startClient(kind, url, changes, namespace);

    test('a client reports nothing else after the refusal of its first namespace', async () => {
      const { sink } = start('/members', { auth: { password: 'guess' } });
      const { message, data } = await sink.next('refused');
      assert.deepEqual([message, data], ['wrong password', { hint: 'ask Ali' }]);
      await log.until('transport closed');
      assert.equal(withoutUpgrades(sink).length, 1);
    });

    test('a namespace that does not exist is refused, and the other namespaces stay connected', async () => {
      const { client, sink } = start('/');
      await sink.next('open');
      client.connect('/nowhere');
      assert.equal((await sink.next('refused')).message, 'Invalid namespace');
      client.emit('/', 'still here', [], 1);
      await sink.next('ack');
      client.destroy();
    });

    test('a client receives messages larger than the kernel’s buffers complete and in order', async () => {
      const { client, sink } = start('/');
      await sink.next('open');
      const sizes = [6_000_000, 10, 6_000_000, 10];
      for (const size of sizes) client.emit('/', 'large', ['z'.repeat(size)]);
      await log.until('event', sizes.length);
      const receivedSizes = log.entries
        .filter(([kind]) => kind === 'event')
        .map(([, , , args]) => (args as string[])[0]?.length);
      assert.deepEqual(receivedSizes, sizes);
      client.destroy();
    });

    test('a client reports a disconnect by the server as the end of its connection', async () => {
      for (const closeTransport of [true, false]) {
        const { client, sink } = start('/');
        await sink.next('open');
        client.emit('/', 'kick me', [closeTransport]);
        const { reason, namespace } = await sink.next('closed');
        assert.deepEqual([reason, namespace, sink.all('closed').length], ['io server disconnect', undefined, 1]);
      }
    });

    test('destroy() of a client reports nothing, before and after the connection opened', async () => {
      const early = start('/');
      early.client.destroy();
      const late = start('/');
      await late.sink.next('open');
      late.client.destroy();
      await log.until('disconnect');
      assert.deepEqual(early.sink.reports, []);
      assert.equal(withoutUpgrades(late.sink).length, 1);
    });

    test('close() of a client while it connects fails the attempt', async () => {
      const { client, sink } = start('/');
      client.close();
      assert.equal((await sink.next('failed')).cause, 'closed');
    });
  });
}
