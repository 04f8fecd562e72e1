/** Answers that never end, or become a thousand times as long: what has come in time is enough, or a failure. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { beginningOf, limitTime } from '../../../plugin/samplers/answers.ts';
import { listen } from '../../helpers/raw-listen.ts';

const HEAD = 'HTTP/1.1 403 no\r\n';

/** @param answer writes, and then once more every few ms what it returns */
async function startDripping(t: TestContext, answer: (socket: Socket) => string): Promise<string> {
  const server = createServer((socket) => {
    const drop = answer(socket);
    const timer = setInterval(() => socket.write(drop), 5);
    socket.on('error', () => {}).once('close', () => clearInterval(timer));
  });
  return `http://127.0.0.1:${await listen(t, server)}/`;
}

test('headers that never end are no answer', async (t) => {
  const url = await startDripping(t, (socket) => {
    socket.write(HEAD);
    return 'x: y\r\n';
  });
  const request = get(url);
  limitTime(request, 100);
  await assert.rejects(once(request, 'response'), { code: 'ETIMEDOUT' });
});

test('of a body that never ends, its beginning is read', async (t) => {
  const url = await startDripping(t, (socket) => {
    socket.write(`${HEAD}\r\nwho are you?`);
    return '.';
  });
  for (const [maxBytes, expected] of [
    [11, /^who are you$/],
    [1e6, /^who are you\?\.+$/],
  ] as const) {
    const request = get(url);
    limitTime(request, 100);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    assert.match(await beginningOf(response, maxBytes), expected);
  }
});

test('what is compressed is not made large', async (t) => {
  const bomb = gzipSync(Buffer.alloc(2 ** 27));
  const url = await startDripping(t, (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`);
    socket.write(bomb);
    return '';
  });
  const before = process.memoryUsage.rss();
  const { body } = await fetch(url);
  assert.equal((await beginningOf(body ?? [], 1000)).length, 1000);
  assert.ok(process.memoryUsage.rss() - before < 2 ** 26);
});
