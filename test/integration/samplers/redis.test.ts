import assert from 'node:assert/strict';
import { createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createClient, createCluster } from 'redis';
import { describeAbsence } from '../../../plugin/samplers/absence.ts';
import { RedisReader, type RedisTraffic } from '../../../plugin/samplers/redis/redis-sampler.ts';
import { column } from '../../helpers/columns.ts';
import { eventually } from '../../helpers/poll.ts';
import { listen } from '../../helpers/raw-listen.ts';
import { freePort, startRedis, startRedisCluster, type TestRedis } from '../../helpers/redis.ts';

async function connectedTo(t: TestContext, redis: TestRedis) {
  const client = createClient({ url: redis.url, socket: { reconnectStrategy: false } });
  client.on('error', () => {});
  t.after(() => client.isOpen && client.destroy());
  return client.connect();
}

async function readerOf(t: TestContext, url: string): Promise<RedisReader> {
  const reader = new RedisReader(url);
  t.after(() => reader.close());
  await reader.ready();
  return reader;
}

test('reads memory of Redis and of its subscribers', async (t) => {
  const redis = await startRedis(t);
  const subscriber = await connectedTo(t, redis);
  await subscriber.subscribe('a', () => {});
  const reader = await readerOf(t, redis.url);

  const reading = await reader.read();
  assert.ok(reading);
  assert.ok(reading.usedMemoryBytes > 100_000 && reading.rssBytes > 1_000_000);
  assert.ok((reading.pubSubTotalBytes ?? 0) > 0);
  assert.equal(reading.pubSubOutputBytes, 0);
  assert.equal(reader.failures, 0);
});

const MISSING_PERMISSIONS: Record<string, [rules: string[], refusal?: RegExp]> = {
  'run dangerous commands': [['+@all', '-@dangerous'], /NOPERM/],
  'run anything but PING': [['-@all', '+ping'], /NOPERM/],
  'run anything': [['-@all'], /NOPERM/],
  'list clients': [['+@all', '-client|list']],
};
for (const [action, [rules, refusal]] of Object.entries(MISSING_PERMISSIONS)) {
  test(`reports whether Redis runs even if its user has no permission to ${action}`, async (t) => {
    const redis = await startRedis(t);
    const admin = await connectedTo(t, redis);
    await admin.sendCommand(['ACL', 'SETUSER', 'reader', 'on', '>secret', '~*', '&*', ...rules]);
    const reader = await readerOf(t, redis.url.replace('//', '//reader:secret@'));
    const reading = await reader.read();
    if (refusal) assert.match(reader.absence?.detail ?? '', refusal);
    else assert.ok(reading && reading.usedMemoryBytes > 0);
    assert.equal(reading?.pubSubTotalBytes, undefined);
    assert.deepEqual([reader.failures, await reader.answers()], [0, true]);
    await redis.close();
    assert.equal(await reader.answers(), false);
  });
}

test('reads the traffic of Redis without the reader’s own traffic', async (t) => {
  const redis = await startRedis(t);
  const [subscriber, publisher] = await Promise.all([connectedTo(t, redis), connectedTo(t, redis)]);
  await subscriber.subscribe('a', () => {});
  await subscriber.pSubscribe('b*', () => {});
  await subscriber.sSubscribe('c', () => {});
  const reader = await readerOf(t, redis.url);

  await publisher.xAdd('é', '*', { a: 'b' });
  const [before] = (await reader.traffic('é')) ?? [];
  for (let reading = 0; reading < 5; reading++) await reader.read();
  const [idle] = (await reader.traffic('é')) ?? [];
  const bytesOf = (traffic?: RedisTraffic) => [traffic?.inBytes, traffic?.outBytes];
  assert.deepEqual(bytesOf(idle), bytesOf(before), 'five readings of some kilobytes each');
  assert.ok(before && idle && idle.cpuUs > before.cpuUs, 'CPU includes the reader’s own');
  assert.deepEqual([idle.streamEntries, (await reader.traffic())?.[0]?.streamEntries], [1, null]);
  assert.ok(idle.usedMemoryBytes > 500_000, JSON.stringify(idle));
  await publisher.publish('a', 'x'.repeat(10_000));
  const [after] = (await reader.traffic()) ?? [];
  assert.ok(before && after);
  const [received, sent] = [after.inBytes - before.inBytes, after.outBytes - before.outBytes];
  assert.ok(received > 10_000 && received < 10_200, `${received} bytes`);
  assert.ok(sent > 10_000 && sent < 10_200, `${sent} bytes`);
  assert.deepEqual([after.channels, after.shardChannels], [1, 1]);
  assert.match(after.version, /^\d+\.\d+/);
});

const described = ({ name, absence }: RedisReader) => absence && describeAbsence(name, absence, 0);

/** Addresses that can never be read, with the run's message and its fix. */
const NEVER: [fault: string, url: (t: TestContext) => Promise<string> | string, cause: RegExp, fix: RegExp][] = [
  ['a closed port', async () => `redis://127.0.0.1:${await freePort()}`, /never answered: ECONNREFUSED/, /start Redis/],
  ['a missing password', (t) => startLocked(t, ''), /may not be read: NOAUTH/, /password/],
  ['a wrong password', (t) => startLocked(t, ':x@'), /may not be read: WRONGPASS/, /correct user/],
  [
    'TLS to a server without TLS',
    async (t) => (await startRedis(t)).url.replace('redis:', 'rediss:'),
    /never answered/,
    /rediss:/,
  ],
  [
    'a silent server',
    async (t) =>
      `redis://127.0.0.1:${await listen(
        t,
        createServer(() => {}),
      )}`,
    /never answered: no answer within/,
    /firewall/,
  ],
  [
    'a server that loads its data',
    (t) => startFailing(t, 'LOADING Redis is loading'),
    /never answered: LOADING/,
    /has loaded/,
  ],
  ['a lost master', (t) => startFailing(t, 'MASTERDOWN Link is down'), /never answered: MASTERDOWN/, /master/],
];

/**
 * @param user user name in the URL
 * @returns the URL of a Redis that requires a password
 */
async function startLocked(t: TestContext, user: string): Promise<string> {
  const redis = await startRedis(t);
  await (await connectedTo(t, redis)).sendCommand(['CONFIG', 'SET', 'requirepass', 'secret']);
  return redis.url.replace('//', `//${user}`);
}

/** @returns the URL of a Redis that replies to every command after the handshake with this error */
async function startFailing(t: TestContext, error: string): Promise<string> {
  const server = createServer((socket) => {
    socket.on('data', (data) => {
      for (const command of String(data).split(/(?=\*\d)/))
        socket.write(/CLIENT|HELLO/.test(command) && !command.includes('LIST') ? '+OK\r\n' : `-${error}\r\n`);
    });
  });
  return `redis://127.0.0.1:${await listen(t, server)}`;
}

for (const [fault, urlOf, cause, fix] of NEVER) {
  test(`reports Redis as absent for ${fault}, with its address, the cause and a fix`, async (t) => {
    const url = await urlOf(t);
    const reader = await readerOf(t, url);
    assert.equal(await reader.read(), undefined);
    assert.match(described(reader) ?? '', new RegExp(`^Redis at ${new URL(url).host} ${cause.source}`));
    assert.match(reader.absence?.fix ?? '', fix);
    assert.equal(reader.failures, 0, 'it never worked, so nothing has failed');
    reader.close();
    reader.close();
  });
}

test('reports a Redis that revokes the permission as absent from then on, not as ended', async (t) => {
  const redis = await startRedis(t);
  const admin = await connectedTo(t, redis);
  await admin.sendCommand(['ACL', 'SETUSER', 'reader', 'on', '>secret', '~*', '&*', '+@all']);
  const reader = await readerOf(t, redis.url.replace('//', '//reader:secret@'));
  assert.ok(await reader.read());
  await admin.sendCommand(['ACL', 'SETUSER', 'reader', '-@dangerous']);
  assert.equal(await reader.read(), undefined);
  assert.match(described(reader) ?? '', /^Redis at \S+ may not be read since [\d.]+ s: NOPERM/);
  assert.deepEqual([reader.failures, await reader.answers()], [0, true]);
});

test('an unresponsive Redis delays a reading by one second, and does not delay the run', async (t) => {
  const redis = await startRedis(t);
  const reader = await readerOf(t, redis.url);
  const other = await connectedTo(t, redis);
  await other.sendCommand(['CLIENT', 'PAUSE', '10000', 'ALL']);
  const startedMs = performance.now();
  assert.equal(await reader.read(), undefined);
  assert.ok(performance.now() - startedMs < 8000);
  assert.match(reader.absence?.detail ?? '', /no answer within/);
});

test('reads sums of memory, traffic per node, and the run id of each node from a Redis Cluster', async (t) => {
  const redis = await startRedisCluster(t);
  const { url, nodes } = redis;
  const client = await createCluster({ rootNodes: [{ url }], defaults: { password: new URL(url).password } }).connect();
  client.on('error', () => {}).on('node-error', () => {});
  t.after(() => client.destroy());
  await client.sSubscribe('a room', () => {});
  await client.xAdd('entries', '*', { a: 'b' });
  const reader = await readerOf(t, url);
  const reading = await reader.read();
  assert.ok(reading);
  const parts = nodes.map(({ port }) => `Redis node 127.0.0.1:${port}`).sort();
  assert.deepEqual(Object.keys(reading.runIds).sort(), parts);
  assert.ok(reading.usedMemoryBytes > 3 * 500_000, 'the sum of all three');

  const before = await reader.traffic('entries');
  for (let request = 0; request < 3; request++) await reader.traffic('entries');
  await client.sPublish('a room', 'x'.repeat(10_000));
  const after = await reader.traffic('entries');
  assert.ok(before && after);
  const sent = after.map(({ outBytes }, node) => outBytes - (before[node]?.outBytes ?? 0));
  const busy = sent.findIndex((bytes) => bytes > 10_000);
  assert.deepEqual(
    column(after, 'shardChannels'),
    [0, 1, 2].map((node) => (node === busy ? 1 : 0)),
  );
  assert.ok(
    sent.every((bytes, node) => node === busy || bytes < 200),
    `${sent}`,
  );
  assert.deepEqual(after.map(({ streamEntries }) => streamEntries).sort(), [1, null, null].sort());

  await redis.stop(1);
  assert.equal(await reader.read(), undefined);
  assert.match(reader.absence?.detail ?? '', new RegExp(`^node 127.0.0.1:${nodes[1]?.port}: `));
  await redis.start();
  let afterRestart = await reader.read();
  await eventually('a reading of all nodes', async () => {
    afterRestart = await reader.read();
    return afterRestart !== undefined;
  });
  for (const part of parts) assert.notEqual(afterRestart?.runIds[part], reading.runIds[part]);
});

const INFO = { run_id: 'a', role: 'master', used_memory: '1000', used_memory_rss: '2000' };

const bulk = (text: string) => `$${text.length}\r\n${text}\r\n`;
const infoOf = (fields: Record<string, string>) =>
  bulk(Object.entries(fields).reduce((text, [key, value]) => `${text}${key}:${value}\r\n`, ''));

/**
 * Starts a simulated Redis.
 * @param info writes the reply to INFO
 */
async function startFakeRedis(t: TestContext, info: (socket: Socket) => void, subscribers = 'omem=1 tot-mem=2') {
  const server = createServer((socket) => {
    socket.on('data', (data) => {
      for (const command of String(data).split(/(?=\*\d)/)) {
        if (command.includes('HELLO') || command.includes('SLOTS')) socket.write('*0\r\n');
        else if (command.includes('INFO\r\n') && !command.includes('SETINFO')) info(socket);
        else socket.write(command.includes('LIST') ? bulk(`id=1 ${subscribers}`) : '+OK\r\n');
      }
    });
  });
  const redis = new RedisReader(`redis://127.0.0.1:${await listen(t, server)}`);
  t.after(() => redis.close());
  await redis.ready();
  return redis;
}

test('a reading of Redis with impossible memory fails, and the next valid reading succeeds', async (t) => {
  let used = '1000';
  const redis = await startFakeRedis(t, (socket) => socket.write(infoOf({ ...INFO, used_memory: used })));
  for (used of ['1e400', '-5', '', '0x10', '9'.repeat(30), 'NaN', '1 2']) {
    assert.equal(await redis.read(), undefined, used);
    assert.match(redis.absence?.detail ?? '', /used_memory/);
  }
  used = '1000';
  assert.equal((await redis.read())?.usedMemoryBytes, 1000);
  const listing = await startFakeRedis(t, (socket) => socket.write(infoOf(INFO)), `omem=${'9'.repeat(400)} tot-mem=1`);
  assert.equal(await listing.read(), undefined);
});

test('an endless answer of Redis closes the connection, and the next reading uses a new one', async (t) => {
  let isEndless = true;
  let ended = 0;
  const redis = await startFakeRedis(t, (socket) => {
    if (!isEndless) return socket.write(infoOf(INFO));
    socket.once('close', () => ended++);
    return socket.write(`$500000000000\r\n${'x'.repeat(100_000)}`);
  });
  assert.equal(await redis.read(), undefined);
  await eventually('the connection is closed', () => ended === 1);
  isEndless = false;
  await eventually('an answer', async () => (await redis.read())?.usedMemoryBytes === 1000);
});

test('a Redis that does not answer does not delay the start of a run', { timeout: 10_000 }, async (t) => {
  const silent = createServer((socket) => socket.on('data', () => {}));
  const redis = new RedisReader(`redis://127.0.0.1:${await listen(t, silent)}`);
  t.after(() => redis.close());
  await redis.ready();
  assert.equal(await redis.read(), undefined);
  assert.match(redis.absence?.detail ?? '', /no answer/);
});
