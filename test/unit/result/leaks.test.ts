import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { addMetrics } from '../../../plugin/result/artillery-metrics.ts';
import type { ArtilleryStats } from '../../../plugin/result/artillery-stats.ts';
import { countsOverTime } from '../../../plugin/result/memory/counts-over-time.ts';
import type { CountOverTime, MemoryDrift } from '../../../protocol/result/memory-schema.ts';
import { overTimeLines } from '../../../report/answer/over-time-line.ts';
import { countProvenLeaks } from '../../../report/figures/memory-leaks.ts';
import { type Change, testCases, verdictOf } from '../../helpers/verdict.ts';
import { drift, waves } from '../../helpers/waves.ts';

const KB = 1024;
const QUIET = drift(10, 50);
const interval = (bytesPerConnection: number, low95: number, high95: number): MemoryDrift => ({
  ...{ ...drift(bytesPerConnection, 0), low95, high95, noLeakAbove: high95 },
  leaks: low95 > 0,
});
const unseen: MemoryDrift = { ...drift(10, 83_558), leaks: null, conclusiveRun: { connections: 280, bytes: 11_937 } };

/** Returns a count of objects. Each of 400 connections leaves `each` of them. */
const counted = (id: string, each: number, isKept = each > 0): CountOverTime => ({
  ...{ id, title: `counted ${id}`, first: 3, last: 3 + 400 * each },
  ...{ perConnection: each, low95: each, high95: each, isKept },
});

const leavingCounts =
  (...counts: CountOverTime[]): Change =>
  (result) =>
    Object.assign(result.memory, waves({ drift: { workerRss: QUIET, workerHeapUsed: QUIET }, counts }).memory);

const leaving =
  (layers: Record<string, MemoryDrift>): Change =>
  (result) =>
    Object.assign(result.memory, waves({ drift: { workerRss: QUIET, workerHeapUsed: QUIET, ...layers } }).memory);

describe('after waves, each layer has a finding of its own', () => {
  testCases([
    ['no layer grows over waves', leaving({ redisUsedMemory: QUIET, kernelTcp: QUIET })],
    [
      'no layer is readable over waves',
      leaving({ workerRss: unseen, workerHeapUsed: unseen, redisUsedMemory: unseen }),
    ],
    ['Redis keeps keys', leaving({ redisUsedMemory: drift(4.25 * KB, 123) }), 'REDIS_LEAK', '4.3 KB'],
    [
      'Redis shows PSS only',
      leaving({ redisPss: drift(4239, 204), redisRss: drift(4241, 240) }),
      'REDIS_LEAK',
      '4.1 KB',
    ],
    ['pages of Redis grow, but not its used memory', leaving({ redisUsedMemory: QUIET, redisPss: drift(4239, 204) })],
    ['a child process of workers grows', leaving({ workerChildrenPss: drift(4096, 100) }), 'WORKERS_LEAK', '4.0 KB'],
    ['the PM2 daemon grows', leaving({ pm2Pss: drift(4096, 100) }), 'PROXY_LEAK', 'PM2 daemon PSS'],
    [
      'the heap of workers keeps sockets',
      leaving({ workerHeapUsed: drift(12 * KB, KB) }),
      'WORKERS_LEAK',
      '12.0 KB',
      '11.0 KB',
    ],
    [
      'heap and external memory show the leak of the process more exactly',
      leaving({
        workerRss: drift(14 * KB, 9 * KB),
        workerKept: drift(13 * KB, 2 * KB),
        workerHeapUsed: drift(13 * KB, 2 * KB),
      }),
      'WORKERS_LEAK',
      '13.0 KB',
      '11.0 KB',
    ],
    [
      'heap and external memory show nearly all of the leak of the process, more exactly',
      leaving({ workerRss: interval(3870, 1931, 5848), workerKept: interval(2370, 1458, 3285) }),
      'WORKERS_LEAK',
      'Workers',
      '2.3 KB',
    ],
    [
      'the process leaks more than heap and external memory',
      leaving({
        workerRss: drift(40 * KB, 9 * KB),
        workerKept: drift(13 * KB, 2 * KB),
        workerHeapUsed: drift(13 * KB, 2 * KB),
      }),
      'WORKERS_LEAK',
      '40.0 KB',
    ],
    ['only pages of the workers grow', leaving({ workerRss: drift(2500, 900) })],
    ['memory of the proxy grows', leaving({ nginxPss: drift(2 * KB, 300) }), 'PROXY_LEAK', '2.0 KB'],
    [
      'the kernel keeps sockets of ended connections',
      leaving({ kernelSlab: drift(3 * KB, 300) }),
      'MACHINE_LEAK',
      '3.0 KB',
    ],
    ['files stay in /dev/shm', leaving({ systemShared: drift(4 * KB, 300) }), 'MACHINE_LEAK', '4.0 KB'],
    [
      'two layers leak memory',
      leaving({ workerHeapUsed: drift(12 * KB, KB), redisUsedMemory: drift(4 * KB, 100) }),
      ['WORKERS_LEAK', 'REDIS_LEAK'],
    ],
    ['no counts grow', leavingCounts(counted('workerNamespaces', 0), counted('redisKeys', 0))],
    [
      'namespaces stay after their connections',
      leavingCounts(counted('workerNamespaces', 1)),
      'STILL_COUNTED',
      3,
      403,
      '1.00',
    ],
    ['files stay open after their connections', leavingCounts(counted('workerFiles', 1)), 'STILL_COUNTED', 403],
    [
      'keys stay in Redis after their connections',
      leavingCounts(counted('redisKeys', 1), counted('redisPatterns', 0)),
      'REDIS_LEAK',
      403,
    ],
    [
      'sockets stay in the kernel after their connections',
      leavingCounts(counted('kernelSockets', 1)),
      'MACHINE_LEAK',
      403,
    ],
    [
      'namespaces stay after their connections, and their memory with them',
      (result, measured) => [
        leavingCounts(counted('workerNamespaces', 1))(result, measured),
        Object.assign(result.memory.overTime?.drift ?? {}, { workerHeapUsed: drift(12 * KB, KB) }),
      ],
      'STILL_COUNTED',
    ],
    ['the whole machine grows, which other programs may cause', leaving({ systemUsed: drift(4 * KB, 300) })],
  ]);

  it('the finding of a leak has values with an interval, and the run stays VALID', () => {
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

describe('if only pages of the workers grow', () => {
  for (const [what, kept, text] of [
    [
      'pages of workers grow, but heap and external memory are shown to be constant',
      QUIET,
      /heap and external memory do not/,
    ],
    [
      'pages of workers grow, heap and external memory are too coarse, and more connections would help',
      { ...drift(2817, 4774), leaks: false },
      /heap and external memory cannot tell below 7.4 KB, .*waves of 24,000 connections would show 1.6 KB/,
    ],
  ] as const) {
    it(what, () => {
      const result = waves({ drift: { workerRss: drift(2500, 900), workerKept: kept } });
      assert.match(overTimeLines(result)[0]?.text ?? '', text);
      assert.equal(verdictOf((found) => Object.assign(found.memory, result.memory)).codes.join(), '');
    });
  }
});

it('does not report the absence of a leak if Redis keeps memory', () => {
  const names = (redis: MemoryDrift) =>
    overTimeLines(waves({ drift: { workerRss: QUIET, redisUsedMemory: redis } })).map(({ figure }) => figure?.name);
  assert.equal(names(QUIET)[0], 'What connections leave behind');
  assert.deepEqual(names(drift(2158, 200)).slice(0, 2), [
    'What connections leave behind in the workers',
    'Redis used_memory per closed connection',
  ]);
});

describe('a count grows with the disconnected connections', () => {
  const of = (...counts: number[]) =>
    countsOverTime(
      counts.map((keys, index) => ({ gone: 100 * index, counts: { keys } })),
      { keys: 'Redis keys' },
    )[0];
  for (const [what, counts, isKept] of [
    ['constant count', [7, 7, 7, 7, 7], false],
    ['one count for each connection', [7, 107, 207, 307, 407], true],
    ['one count for ten connections, unevenly', [7, 15, 29, 36, 47], true],
    ['count that moves up and down', [7, 90, 3, 60, 12], false],
    ['a server that opens four files for itself', [7, 8, 9, 10, 11], false],
  ] as const) {
    it(`${what} over disconnected connections: ${isKept ? 'counts as a leak' : 'is no leak'}`, () =>
      assert.equal(of(...counts)?.isKept, isKept));
  }

  it('growth of a count with disconnected connections is unknown with two readings, or if one lacks the count', () => {
    const lacking: { gone: number; counts: Record<string, number> }[] = [
      { gone: 0, counts: { keys: 1 } },
      { gone: 100, counts: {} },
      { gone: 200, counts: { keys: 3 } },
    ];
    assert.deepEqual(countsOverTime(lacking, {}), []);
    assert.deepEqual([of(1, 101), of(1)], [undefined, undefined]);
  });
});

for (const [what, layers, counts, leaks] of [
  ['the number of layers and of counted objects that grow', { redisUsedMemory: drift(4 * KB, 100) }, [1], 2],
  ['0 if readings of the workers exclude a leak', {}, [0], 0],
  ['unknown if readings of the workers cannot decide', { workerRss: unseen, workerHeapUsed: unseen }, [], null],
] as const) {
  it(`the metric \`memory.leaks\` is ${what}`, () => {
    const result = waves({
      drift: { workerRss: QUIET, workerHeapUsed: QUIET, ...layers },
      counts: counts.map((each) => counted('redisKeys', each)),
    });
    result.memory.leaks = countProvenLeaks(result);
    const stats = { counters: {}, rates: {}, summaries: {} } as ArtilleryStats;
    addMetrics(stats, result);
    assert.equal(stats.counters['memory.leaks'] ?? null, leaks);
  });
}

describe('the fix for a leak, if heap profiles of the waves exist, follows from what stays', () => {
  const row = (name: string, bytes: number) => ({ name, bytes, halfWidth95: 100 });
  const keep = { ...row('onConnection', 2000), place: 'session.ts:88', package: 'application' };
  const places = (packages: ReturnType<typeof row>[]) => ({
    ...{ connections: 100, leftBehind: true as const, growthBytes: 10_000, unattributedBytes: 0 },
    ...{ packages, functions: [keep] },
  });
  for (const [what, packages, fix] of [
    [
      'suggests looking at the application if its data stays after waves',
      [row('application', 9000)],
      /^see what keeps what session\.ts:88 \(2\.0 KB of each\)/,
    ],
    [
      'suggests looking at what holds whole connections if they stay after waves',
      [row('engine.io', 3000), row('ws', 1000), row('application', 2000)],
      /^whole connections stay, with 3\.9 KB of engine\.io, ws: .*session\.ts:88 \(2\.0 KB of each\)$/,
    ],
  ] as const) {
    it(what, () => {
      const { findings } = verdictOf((result) => {
        Object.assign(result.memory, waves({ drift: { workerKept: drift(10_000, 500) } }).memory);
        Object.assign(result.memory, { places: places([...packages]) });
      });
      assert.match(findings.find(({ code }) => code === 'WORKERS_LEAK')?.fix ?? '', fix);
    });
  }
});
