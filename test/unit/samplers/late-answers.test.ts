import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { bodyBeginning } from '../../../plugin/samplers/late-answers.ts';
import { urlOf } from '../../helpers/raw-listen.ts';

test('decompresses only the start of a compressed HTTP answer', async (t) => {
  const bomb = gzipSync(Buffer.alloc(2 ** 27));
  const server = createServer((_request, response) => response.setHeader('content-encoding', 'gzip').end(bomb));
  const before = process.memoryUsage.rss();
  const { body } = await fetch(await urlOf(t, server));
  assert.equal((await bodyBeginning(body ?? [], 1000)).length, 1000);
  assert.ok(process.memoryUsage.rss() - before < 2 ** 26);
});
