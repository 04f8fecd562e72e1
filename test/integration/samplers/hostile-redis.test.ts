/** What no Redis tells: it is no figure, and an answer that never ends is not kept. */
import assert from 'node:assert/strict';
import { createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { RedisReader } from '../../../plugin/samplers/redis/redis.ts';
import { eventually } from '../../helpers/poll.ts';
import { listen } from '../../helpers/raw-listen.ts';

const INFO = { run_id: 'a', role: 'master', used_memory: '1000', used_memory_rss: '2000' };

const bulk = (text: string) => `$${text.length}\r\n${text}\r\n`;
const infoOf = (fields: Record<string, string>) =>
  bulk(Object.entries(fields).reduce((text, [key, value]) => `${text}${key}:${value}\r\n`, ''));

/** @param info writes the answer to INFO */
async function startRedis(t: TestContext, info: (socket: Socket) => void, subscribers = 'omem=1 tot-mem=2') {
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
  const redis = await startRedis(t, (socket) => socket.write(infoOf({ ...INFO, used_memory: used })));
  for (used of ['1e400', '-5', '', '0x10', '9'.repeat(30), 'NaN', '1 2']) {
    assert.equal(await redis.read(), undefined, used);
    assert.match(redis.lastFailure ?? '', /used_memory/);
  }
  used = '1000';
  assert.equal((await redis.read())?.usedMemoryBytes, 1000);
  const listing = await startRedis(t, (socket) => socket.write(infoOf(INFO)), `omem=${'9'.repeat(400)} tot-mem=1`);
  assert.equal(await listing.read(), undefined);
});

test('an answer that does not end costs its connection, and is asked for by another one', async (t) => {
  let isEndless = true;
  let ended = 0;
  const redis = await startRedis(t, (socket) => {
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
  assert.match(redis.lastFailure ?? '', /no answer/);
});
