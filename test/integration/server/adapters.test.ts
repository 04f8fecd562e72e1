/** Tests the common behaviour of all adapters in the table. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { after, describe, it, type TestContext, test } from 'node:test';
import { pino } from 'pino';
import { createClient } from 'redis';
import { Server } from 'socket.io';
import type { BroadcastMessage, BroadcastSent } from '../../../protocol/wire/events.ts';
import { ADAPTERS, type AdapterName } from '../../../server/adapters/index.ts';
import { parseServerConfig } from '../../../server/config.ts';
import { binaryPayload } from '../../../server/contract/contract-payload.ts';
import { ask, connectClient, connectControl, onceOf, startApp, TOKEN } from '../../helpers/app.ts';
import { eventually } from '../../helpers/poll.ts';
import { freePort, startRedis, startRedisCluster, type TestRedisCluster } from '../../helpers/redis.ts';

interface Surroundings {
  /** Environment variables that connect the workers of this test, but no other workers. */
  environment: Record<string, string>;
  /** Stops the backend of the adapter. */
  breakDown?(): Promise<void>;
  /** Replaces the backend with an empty one. */
  replace?(): Promise<void>;
}

const onRedis = async (t: TestContext): Promise<Surroundings> => {
  const redis = await startRedis(t);
  return {
    environment: { REDIS_URL: redis.url, CAPACITY_REDIS_PREFIX: randomUUID() },
    breakDown: () => redis.close(),
    replace: async () => {
      await redis.close();
      await startRedis(t, redis.port);
    },
  };
};

/** Cluster that all tests share, because its start takes seconds. */
let cluster: Promise<TestRedisCluster> | undefined;
let endCluster = () => {};
after(() => endCluster());

const onCluster = async (): Promise<Surroundings> => {
  cluster ??= startRedisCluster({ after: (end) => (endCluster = end as () => void) });
  const redis = await cluster;
  await redis.start();
  return {
    environment: { REDIS_URL: redis.url, CAPACITY_REDIS_PREFIX: randomUUID() },
    breakDown: () => redis.stop(),
    replace: async () => {
      await redis.stop();
      await redis.start();
    },
  };
};

const SURROUNDINGS: Record<AdapterName, (t: TestContext) => Promise<Surroundings>> = {
  'in-memory': async () => ({ environment: {} }),
  redis: onRedis,
  'redis-sharded-static': onRedis,
  'redis-sharded-dynamic': onRedis,
  'redis-sharded-dynamic-private': onRedis,
  'redis-streams': onRedis,
};

test('every adapter in the table of adapters is tested', () => {
  assert.deepEqual(Object.keys(SURROUNDINGS).sort(), Object.keys(ADAPTERS).sort());
});

/** Connects a client and joins it to the room `blue`. */
async function connectMember({ url }: { url: string }) {
  const client = await connectClient(url);
  await client.emitWithAck('join_room', 'blue');
  return client;
}

/**
 * Adapters to test with a cluster. One mode of the sharded adapter is sufficient, because a cluster has the same effect
 * on all three.
 */
const ON_CLUSTER = (['redis', 'redis-sharded-dynamic', 'redis-streams'] as const).map(
  (name) => [name, onCluster] as const,
);

for (const [adapterName, surroundingsOf] of [...Object.entries(SURROUNDINGS), ...ON_CLUSTER]) {
  const { clustered, recovers, connect } = ADAPTERS[adapterName as AdapterName];

  describe(surroundingsOf === onCluster ? `${adapterName} on a Redis Cluster` : adapterName, () => {
    async function setUp(t: TestContext, changes: Record<string, string> = {}) {
      const { environment, breakDown, replace } = await surroundingsOf(t);
      const chosen = { CAPACITY_ADAPTER: adapterName, ...environment, ...changes };
      const apps = await Promise.all(['w0', 'w1'].map((id) => startApp(t, { ...chosen, CAPACITY_WORKER: id })));
      const [here, there] = apps;
      assert.ok(here && there);
      const control = await connectControl(here.controlPort);
      return { here, there, control, breakDown, replace };
    }

    it(
      clustered
        ? 'an adapter delivers a broadcast to members on all workers of a cluster'
        : 'without a cluster adapter, a broadcast reaches only members on its own worker',
      async (t) => {
        const { here, there, control } = await setUp(t);
        const [own, other] = await Promise.all([connectMember(here), connectMember(there)]);
        let strayCopies = 0;
        if (!clustered) other.on('broadcast', () => strayCopies++);

        const receivers = clustered ? [own, other] : [own];
        const received = Promise.all(receivers.map((client) => onceOf(client, 'broadcast')));
        const { expected } = await ask<BroadcastSent>(control, 'broadcast', { room: 'blue', bytes: 100, seq: 1 });
        assert.equal(expected, receivers.length);
        for (const [message] of (await received) as [BroadcastMessage][]) assert.equal(message.worker, 'w0');
        assert.equal((await ask<{ members: number }>(control, 'members', 'blue')).members, receivers.length);
        await other.emitWithAck('join_room', 'answered after anything sent before');
        assert.equal(strayCopies, 0);
      },
    );

    it('an adapter delivers binary payloads unchanged', async (t) => {
      const { here, there, control } = await setUp(t);
      const receiver = await connectMember(clustered ? there : here);
      const received = onceOf(receiver, 'broadcast');
      await ask<BroadcastSent>(control, 'broadcast', { room: 'blue', bytes: 100, binary: true, seq: 1 });
      const [{ data }] = (await received) as [BroadcastMessage];
      assert.deepEqual(data, binaryPayload(100));
    });

    it('an adapter counts its errors, and has none while Redis works', async (t) => {
      const { here, control, breakDown } = await setUp(t);
      const errors = async () => {
        const metrics = await (await fetch(`${here.controlUrl}/metrics`)).text();
        return Number(/^capacity_adapter_errors_total\{worker="w0"\} (\d+)$/m.exec(metrics)?.[1]);
      };
      await ask(control, 'broadcast', { room: 'blue', bytes: 100, seq: 1 });
      assert.equal(await errors(), 0);
      if (!breakDown) return;
      await breakDown();
      await eventually('the adapter counts its lost connections', async () => (await errors()) > 0);
      if (adapterName !== 'redis') return;
      const order = { room: 'blue', bytes: 10, seq: 2 };
      await assert.rejects(ask(control, 'broadcast', order), /REQUEST_FAILED/, 'the members cannot be counted');
    });

    it('an adapter reconnects its workers after its Redis was replaced, and drops no client', {
      skip: !clustered,
    }, async (t) => {
      const { here, there, control, replace } = await setUp(t);
      const receiver = await connectMember(there);
      const { id } = receiver;
      // Waits for a first broadcast. A pending subscription is lost when Redis stops, and the dynamic adapters do not
      // repeat it.
      const subscribed = onceOf(receiver, 'broadcast');
      await ask(control, 'broadcast', { room: 'blue', bytes: 10, seq: 1 });
      await subscribed;
      const received = onceOf(receiver, 'broadcast');
      await replace?.();
      let isDelivered = false;
      received.then(() => (isDelivered = true));
      let seq = 1;
      await eventually('a broadcast crosses the workers', async () => {
        // Ignores rejections. They continue until the workers count each other's members again.
        await ask(control, 'broadcast', { room: 'blue', bytes: 10, seq: ++seq }).catch(() => {});
        return isDelivered;
      });
      assert.equal(receiver.id, id);
      await connectMember(here);
    });

    it('an adapter restores sessions if the table lists that feature', { skip: !recovers }, async (t) => {
      const { here, control } = await setUp(t, { CAPACITY_RECOVERY_SECONDS: '20' });
      const client = await connectMember(here);
      t.after(() => client.disconnect());
      const broadcast = (seq: number) => ask<BroadcastSent>(control, 'broadcast', { room: 'blue', bytes: 10, seq });
      // Sends a first broadcast, because a client that has received nothing has no offset and cannot restore its
      // session.
      const first = onceOf(client, 'broadcast');
      await Promise.all([first, broadcast(1)]);
      const dropped = onceOf(client, 'disconnect');
      client.io.engine.close();
      await dropped;
      await broadcast(2);
      const missed = onceOf(client, 'broadcast');
      client.connect();
      assert.equal(((await missed) as [BroadcastMessage])[0].seq, 2);
      assert.equal(client.recovered, true);
    });

    it('an adapter closes its Redis connections, also when closed twice', async (t) => {
      const { environment, breakDown } = await surroundingsOf(t);
      const config = parseServerConfig({ CAPACITY_TOKEN: TOKEN, CAPACITY_ADAPTER: adapterName, ...environment });
      const log = pino({ level: 'silent' });
      await eventually('the sockets of earlier tests are closed', hasNoOpenSocket);
      const servers = [new Server(createServer()), new Server(createServer())] as const;
      const [adapter, abandoned] = await Promise.all(servers.map((io) => connect(io, config.adapter.settings, log)));
      assert.ok(adapter && abandoned);
      await servers[0].close();
      await Promise.all([adapter.close(), adapter.close()]);
      await adapter.close();
      assert.equal(adapter.errors(), 0);

      await breakDown?.();
      await servers[1].close();
      await abandoned.close();
      await eventually('its sockets are closed', hasNoOpenSocket);
    });
  });
}

test('reports a Redis without sharded channels as the reason why the server cannot start', async (t) => {
  const redis = await startRedis(t, undefined, ['--rename-command', 'SSUBSCRIBE', '']);
  const environment = { REDIS_URL: redis.url, CAPACITY_ADAPTER: 'redis-sharded-static', CAPACITY_WORKER: 'w0' };
  await assert.rejects(startApp(t, environment), { code: 'REDIS_REFUSES', message: /SSUBSCRIBE/i });
});

test('reports a Redis that refuses the user, with the missing permission', async (t) => {
  const { url } = await startRedis(t);
  const admin = await createClient({ url }).connect();
  await admin.sendCommand(['ACL', 'SETUSER', 'app', 'on', '>right', '~*', '+@all', '-@pubsub']);
  // Destroys the client before Redis stops. A client that loses its server emits an error.
  admin.destroy();
  const withUser = (password: string) => Object.assign(new URL(url), { username: 'app', password }).href;
  for (const [password, fix] of [
    ['wrong', /correct user and password/],
    ['right', /ACL SETUSER/],
  ] as const) {
    const environment = { REDIS_URL: withUser(password), CAPACITY_ADAPTER: 'redis', CAPACITY_WORKER: 'w0' };
    await assert.rejects(startApp(t, environment), { code: 'REDIS_REFUSES', fix });
  }
});

test('the start without Redis fails with an error that hides the password, and leaves nothing open', async (t) => {
  const [redisPort, controlPort] = await Promise.all([freePort(), freePort()]);
  const environment = { CAPACITY_CONTROL_PORT: `${controlPort}`, CAPACITY_WORKER: 'w0' };
  const url = `redis://user:hunter2@127.0.0.1:${redisPort}`;
  const message = new RegExp(`^(?!.*hunter2).*:${redisPort}`, 's');
  await assert.rejects(startApp(t, { ...environment, REDIS_URL: url }), { code: 'REDIS_UNREACHABLE', message });
  await assert.rejects(fetch(`http://127.0.0.1:${controlPort}/healthz`));
});

function hasNoOpenSocket(): boolean {
  return !process.getActiveResourcesInfo().includes('TCPSocketWrap');
}
