/** Findings about what connections leave behind, in each layer. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Drift } from '../../../protocol/result/over-time.ts';
import { type Change, testCases, verdictOf } from '../../helpers/verdict.ts';
import { drift, waves } from '../../helpers/waves.ts';

const KB = 1024;
const QUIET = drift(10, 50);
const unseen: Drift = { ...drift(10, 83_558), leaks: null, wouldTell: { connections: 280, bytes: 11_937 } };

const leaving =
  (layers: Record<string, Drift>): Change =>
  (result) =>
    Object.assign(result.memory, waves({ drift: { workerRss: QUIET, workerHeapUsed: QUIET, ...layers } }).memory);

describe('after waves, each layer has a finding of its own', () => {
  testCases([
    ['nothing grows', leaving({ redisUsedMemory: QUIET, kernelTcp: QUIET })],
    ['no layer can tell', leaving({ workerRss: unseen, workerHeapUsed: unseen, redisUsedMemory: unseen })],
    ['Redis keeps keys', leaving({ redisUsedMemory: drift(4.25 * KB, 123) }), 'REDIS_LEAK', '4.3 KB'],
    ['the heap keeps sockets', leaving({ workerHeapUsed: drift(12 * KB, KB) }), 'WORKERS_LEAK', '12.0 KB', '11.0 KB'],
    ['only pages of the workers grow', leaving({ workerRss: drift(2500, 900) })],
    ['the proxy grows', leaving({ nginxPss: drift(2 * KB, 300) }), 'PROXY_LEAK', '2.0 KB'],
    ['the kernel keeps sockets', leaving({ kernelSlab: drift(3 * KB, 300) }), 'MACHINE_LEAK', '3.0 KB'],
    ['files stay in /dev/shm', leaving({ systemShared: drift(4 * KB, 300) }), 'MACHINE_LEAK', '4.0 KB'],
    [
      'two layers leak',
      leaving({ workerHeapUsed: drift(12 * KB, KB), redisUsedMemory: drift(4 * KB, 100) }),
      ['WORKERS_LEAK', 'REDIS_LEAK'],
    ],
    ['the whole machine grows, which other programs do, too', leaving({ systemUsed: drift(4 * KB, 300) })],
  ]);

  it('has the values with their interval, and the layer as its subject; the run stays VALID', () => {
    const { findings, status } = verdictOf(leaving({ redisUsedMemory: drift(4345, 123) }));
    assert.equal(status, 'VALID');
    const [{ subject, values, about } = {} as never] = findings;
    assert.equal(about, 'deployment');
    assert.equal(subject, 'Redis used_memory');
    assert.deepEqual(values, [
      { name: 'left behind by each connection', value: 4345, unit: 'bytes', low95: 4222, high95: 4468 },
    ]);
  });
});
