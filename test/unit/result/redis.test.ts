import assert from 'node:assert/strict';
import { test } from 'node:test';
import { redisFigures } from '../../../plugin/result/redis.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { redisRows } from '../../../report/redis.ts';
import { measurements, sent } from '../../helpers/measurements.ts';

const redis = { version: '7.0.15', inBytes: 5000, outBytes: 10_000, channels: 4, patterns: 1, shardChannels: 0 };
const to = (...otherWorkers: (number | undefined)[]) =>
  otherWorkers.map((others, index) => ({
    ...sent(index + 1, 10),
    ...(others !== undefined && { otherWorkers: others }),
  }));

test('bytes for each copy, and broadcasts that no other worker had a member for', () => {
  const figures = redisFigures(measurements({ redis, sent: to(1, 0, 0) }), 50);
  assert.deepEqual(figures, { ...redis, inBytesPerCopy: 100, outBytesPerCopy: 200, forNobody: 2 });
  assert.deepEqual(redisRows({ redis: figures } as Result), [
    ['Redis, received', '100.0', 'bytes per receipt'],
    ['Redis, sent', '200.0', 'bytes per receipt'],
    ['Redis, channels', '5', 'that workers subscribe to'],
    ['Redis, for nobody', '2', 'broadcasts without members on other workers'],
  ]);
});

test('what is not known is null', () => {
  assert.equal(redisFigures(measurements({ sent: to(1) }), 50), null);
  for (const received of [0, undefined]) {
    const figures = redisFigures(measurements({ redis, sent: to(1, undefined) }), received);
    assert.deepEqual([figures?.inBytesPerCopy, figures?.outBytesPerCopy, figures?.forNobody], [null, null, null]);
  }
  assert.deepEqual(redisRows({ redis: null }), []);
});
