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

test('memory of a Redis, and of those who subscribe', async (t) => {
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

const MAY_NOT: Record<string, [rules: string[], refusal?: RegExp]> = {
  'run dangerous commands': [['+@all', '-@dangerous'], /NOPERM/],
  'run anything but PING': [['-@all', '+ping'], /NOPERM/],
  'run anything': [['-@all'], /NOPERM/],
  'list clients': [['+@all', '-client|list']],
};
for (const [what, [rules, refusal]] of Object.entries(MAY_NOT)) {
  test(`a user who may not ${what} sees that Redis runs, and that it has ended`, async (t) => {
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

test('traffic of a Redis, without that of the reader', async (t) => {
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
  const ofWire = (traffic?: RedisTraffic) => [traffic?.inBytes, traffic?.outBytes];
  assert.deepEqual(ofWire(idle), ofWire(before), 'five readings of some kilobytes each');
  assert.ok(before && idle && idle.cpuUs > before.cpuUs, 'CPU, which the reader cannot tell apart');
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

/** Addresses at which no reading is possible from the start, what the run says of them, and its fix. */
const NEVER: [what: string, url: (t: TestContext) => Promise<string> | string, words: RegExp, fix: RegExp][] = [
  [
    'nobody listens',
    async () => `redis://127.0.0.1:${await freePort()}`,
    /never answered: ECONNREFUSED/,
    /start Redis/,
  ],
  ['a password is missing', (t) => startLocked(t, ''), /may not be read: NOAUTH/, /password/],
  ['the password is wrong', (t) => startLocked(t, ':x@'), /may not be read: WRONGPASS/, /correct user/],
  [
    'TLS is spoken to one without',
    async (t) => (await startRedis(t)).url.replace('redis:', 'rediss:'),
    /never answered/,
    /rediss:/,
  ],
  [
    'nothing comes',
    async (t) =>
      `redis://127.0.0.1:${await listen(
        t,
        createServer(() => {}),
      )}`,
    /never answered: no answer within/,
    /firewall/,
  ],
  ['it loads its data', (t) => startSaying(t, 'LOADING Redis is loading'), /never answered: LOADING/, /has loaded/],
  ['its master is away', (t) => startSaying(t, 'MASTERDOWN Link is down'), /never answered: MASTERDOWN/, /master/],
];

/** @param user in its address @returns the address of a Redis that requires a password */
async function startLocked(t: TestContext, user: string): Promise<string> {
  const redis = await startRedis(t);
  await (await connectedTo(t, redis)).sendCommand(['CONFIG', 'SET', 'requirepass', 'secret']);
  return redis.url.replace('//', `//${user}`);
}

/** @returns the address of a Redis that answers everything but its first commands like this */
async function startSaying(t: TestContext, error: string): Promise<string> {
  const server = createServer((socket) => {
    socket.on('data', (data) => {
      for (const command of String(data).split(/(?=\*\d)/))
        socket.write(/CLIENT|HELLO/.test(command) && !command.includes('LIST') ? '+OK\r\n' : `-${error}\r\n`);
    });
  });
  return `redis://127.0.0.1:${await listen(t, server)}`;
}

for (const [what, urlOf, words, fix] of NEVER) {
  test(`where ${what}, Redis is absent with its address, the cause and a fix`, async (t) => {
    const url = await urlOf(t);
    const reader = await readerOf(t, url);
    assert.equal(await reader.read(), undefined);
    assert.match(described(reader) ?? '', new RegExp(`^Redis at ${new URL(url).host} ${words.source}`));
    assert.match(reader.absence?.fix ?? '', fix);
    assert.equal(reader.failures, 0, 'nothing has failed that had worked');
    reader.close();
    reader.close();
  });
}

test('a Redis that takes the permission away may not be read since then, and has not ended', async (t) => {
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

test('a Redis that does not answer costs one second, not the run', async (t) => {
  const redis = await startRedis(t);
  const reader = await readerOf(t, redis.url);
  const other = await connectedTo(t, redis);
  await other.sendCommand(['CLIENT', 'PAUSE', '10000', 'ALL']);
  const beganMs = performance.now();
  assert.equal(await reader.read(), undefined);
  assert.ok(performance.now() - beganMs < 8000);
  assert.match(reader.absence?.detail ?? '', /no answer within/);
});

test('a Redis Cluster: sums of memory, traffic by node, and each node’s own run', async (t) => {
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
  assert.ok(reading.usedMemoryBytes > 3 * 500_000, 'of all three');

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
  let again = await reader.read();
  await eventually('a reading of all nodes', async () => {
    again = await reader.read();
    return again !== undefined;
  });
  for (const part of parts) assert.notEqual(again?.runIds[part], reading.runIds[part]);
});

const INFO = { run_id: 'a', role: 'master', used_memory: '1000', used_memory_rss: '2000' };

const bulk = (text: string) => `$${text.length}\r\n${text}\r\n`;
const infoOf = (fields: Record<string, string>) =>
  bulk(Object.entries(fields).reduce((text, [key, value]) => `${text}${key}:${value}\r\n`, ''));

/** @param info writes the answer to INFO */
async function startLiar(t: TestContext, info: (socket: Socket) => void, subscribers = 'omem=1 tot-mem=2') {
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

test('memory that cannot be is a failure, and the next reading is one', async (t) => {
  let used = '1000';
  const redis = await startLiar(t, (socket) => socket.write(infoOf({ ...INFO, used_memory: used })));
  for (used of ['1e400', '-5', '', '0x10', '9'.repeat(30), 'NaN', '1 2']) {
    assert.equal(await redis.read(), undefined, used);
    assert.match(redis.absence?.detail ?? '', /used_memory/);
  }
  used = '1000';
  assert.equal((await redis.read())?.usedMemoryBytes, 1000);
  const listing = await startLiar(t, (socket) => socket.write(infoOf(INFO)), `omem=${'9'.repeat(400)} tot-mem=1`);
  assert.equal(await listing.read(), undefined);
});

test('an answer that does not end costs its connection, and is asked for by another one', async (t) => {
  let isEndless = true;
  let ended = 0;
  const redis = await startLiar(t, (socket) => {
    if (!isEndless) return socket.write(infoOf(INFO));
    socket.once('close', () => ended++);
    return socket.write(`$500000000000\r\n${'x'.repeat(100_000)}`);
  });
  assert.equal(await redis.read(), undefined);
  await eventually('the connection is given up', () => ended === 1);
  isEndless = false;
  await eventually('an answer', async () => (await redis.read())?.usedMemoryBytes === 1000);
});

test('one that takes the connection and says nothing does not hold up the start', { timeout: 10_000 }, async (t) => {
  const silent = createServer((socket) => socket.on('data', () => {}));
  const redis = new RedisReader(`redis://127.0.0.1:${await listen(t, silent)}`);
  t.after(() => redis.close());
  await redis.ready();
  assert.equal(await redis.read(), undefined);
  assert.match(redis.absence?.detail ?? '', /no answer/);
});
