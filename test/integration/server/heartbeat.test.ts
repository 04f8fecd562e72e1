import assert from 'node:assert/strict';
import { executionAsyncId } from 'node:async_hooks';
import { type EventEmitter, on, once } from 'node:events';
import { test } from 'node:test';
import { connectClient, onceOf, startApp } from '../../helpers/app.ts';

/** Connection of Engine.IO on the server side. */
type Connection = EventEmitter & { id: string };

test('one timer pings all connections, each once per interval, and forgets closed connections', async (t) => {
  const app = await startApp(t, { CAPACITY_PING_INTERVAL_MS: '200' });
  const startMs = performance.now();
  const pings: { id: string; by: number }[] = [];
  app.io.engine.on('connection', (connection: Connection) => {
    connection.on('packetCreate', ({ type }) => {
      if (type === 'ping') pings.push({ id: connection.id, by: executionAsyncId() });
    });
  });
  const clients = [await connectClient(app.url), await connectClient(app.url, { transports: ['polling'] })];
  const closedClient = await connectClient(app.url);
  const closedId = idOf(closedClient);
  closedClient.disconnect();
  await Promise.all(clients.map((client) => countPings(client.io, 4)));

  assert.equal(new Set(pings.map(({ by }) => by)).size, 1);
  assert.ok(!pings.some(({ id }) => id === closedId));
  const intervals = (performance.now() - startMs) / 200;
  for (const client of clients) {
    const own = pings.filter(({ id }) => id === idOf(client)).length;
    assert.ok(own >= 4 && own <= intervals + 1, `${own} pings in ${intervals} intervals`);
    assert.ok(client.connected);
    client.disconnect();
  }
});

test('closes a connection that does not answer a ping within the timeout', async (t) => {
  const app = await startApp(t, { CAPACITY_PING_INTERVAL_MS: '100', CAPACITY_PING_TIMEOUT_MS: '100' });
  const connected = once(app.io.engine, 'connection');
  const client = await connectClient(app.url);
  const [connection] = (await connected) as [Connection];
  const { transport } = client.io.engine as unknown as { transport: { send(): void } };
  transport.send = () => {};
  const [[reason]] = await Promise.all([once(connection, 'close'), onceOf(client, 'disconnect')]);
  assert.equal(reason, 'ping timeout');
});

function idOf(client: Awaited<ReturnType<typeof connectClient>>): string {
  return (client.io.engine as unknown as Connection).id;
}

async function countPings(manager: object, count: number): Promise<void> {
  let seen = 0;
  for await (const _ of on(manager as EventEmitter, 'ping')) if (++seen === count) return;
}
