import assert from 'node:assert/strict';
import * as files from 'node:fs';
import { describe, it, test } from 'node:test';
import { countersOf, interfaceTo } from '../../../plugin/samplers/machine/host-traffic.ts';
import { systemVBytes, tmpfsMounts } from '../../../plugin/samplers/machine/shared-memory.ts';
import { parseProcStat } from '../../../plugin/samplers/processes/proc.ts';
import { PageLines, readPage } from '../../../plugin/samplers/prometheus/page.ts';
import { parseInfo } from '../../../plugin/samplers/redis/redis-node.ts';
import * as kernel from '../../../protocol/base/machine/kernel.ts';
import { allocatedBytes } from '../../../protocol/base/machine/own-heaps.ts';
import { assertEach } from '../../helpers/columns.ts';

const STAT_TAIL =
  '1 42 42 0 -1 4194560 100 0 0 0 250 50 3 4 20 0 11 0 123456 1000000 2048 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 3';

test('reads CPU, RSS and start time from /proc/<pid>/stat with any command name, and nothing from a torn line', () => {
  for (const name of ['node', 'my (app) 1 2 3', ') S 9']) {
    assert.deepEqual(parseProcStat(`42 (${name}) S ${STAT_TAIL}`), {
      ...{ pid: 42, parent: 1, name, lastCpu: 3, isZombie: false, rssBytes: 2048 * kernel.PAGE_SIZE_BYTES },
      ...{
        cpuUs: 300 * kernel.CLOCK_TICK_US,
        reapedUs: 7 * kernel.CLOCK_TICK_US,
        startedAtUs: 123456 * kernel.CLOCK_TICK_US,
      },
    });
  }
  assert.equal(parseProcStat(`42 (node) Z ${STAT_TAIL}`)?.isZombie, true);
  for (const torn of ['42 (node) S 1 42', '']) assert.equal(parseProcStat(torn), undefined);
});

test('finds the interface of the most specific route to an address, and reads its counters', () => {
  const routes = [
    ['Iface', 'Destination', 'Gateway', 'Flags', 'RefCnt', 'Use', 'Metric', 'Mask'],
    ['eth0', '00000000', '010012C6', '0003', '0', '0', '0', '00000000'],
    ['load', '000112C6', '00000000', '0001', '0', '0', '0', '00FFFFFF'],
    ['redis', '020112C6', '00000000', '0005', '0', '0', '0', 'FFFFFFFF'],
  ];
  const text = `${routes.map((row) => row.join('\t')).join('\n')}\n`;
  const found = ['198.18.1.2', '198.18.1.3', '10.0.0.1', '::1'].map((address) => interfaceTo(address, text));
  assert.deepEqual(found, ['redis', 'load', 'eth0', undefined]);
  const counters = 'Inter-|   Receive\n redis0: 9 9 0 0 0 0 0 0 9 9 0\n  redis: 100 2 0 0 0 0 0 0 50 1 0 0 0 0 0 0\n';
  const expected = { inBytes: 100, inPackets: 2, outBytes: 50, outPackets: 1 };
  assert.deepEqual(countersOf('redis', counters), expected);
  assert.throws(() => countersOf('lo', counters));
});

test('converts the kB in smaps_rollup to bytes, and nothing from an empty file', () => {
  const text = '5600-7ffd ---p 00000000 00:00 0 [rollup]\nRss:     1688 kB\nPss:      411 kB\nPss_Dirty:   116 kB\n';
  assert.deepEqual(kernel.parseSmapsRollup(text), { rssBytes: 1688 * 1024, pssBytes: 411 * 1024 });
  const parts = kernel.parseSmapsRollup(`${text}Pss_Anon:  300 kB\nPss_Shmem:  10 kB\n`);
  assert.deepEqual([parts?.anonymousBytes, parts?.sharedBytes], [300 * 1024, 10 * 1024]);
  assert.equal(kernel.parseSmapsRollup(''), undefined);
});

test('reads the bytes that glibc has allocated, but not those of another allocator or of a fragmented heap', (t) => {
  if (process.platform !== 'linux') return t.skip();
  const [COUNT, BYTES] = [2000, 4096];
  const before = allocatedBytes(files) ?? assert.fail('not counted');
  const buffers = Array.from({ length: COUNT }, () => Buffer.alloc(BYTES));
  const perBuffer = ((allocatedBytes(files) ?? 0) - before) / buffers.length;
  assert.ok(Math.abs(perBuffer / BYTES - 1) < 0.1, `${perBuffer} bytes`);

  const heap = '55d0000000-55d0100000 rw-p 00000000 00:00 0 [heap]\n';
  let open = 0;
  const given = (maps: string, chunk: number[]) =>
    allocatedBytes({
      readFileSync: () => maps,
      openSync: () => ++open,
      closeSync: () => open--,
      readSync: (_: number, window: Buffer) =>
        window.fill(Buffer.from(new BigUint64Array(chunk.map(BigInt)).buffer)).length,
    } as unknown as typeof files);
  const glibc = `${heap}7f0000000000-7f0000001000 r-xp 00000000 00:00 0 /usr/lib/libc.so.6\n`;
  assert.equal(given(glibc, [0, 0x10001]), 0xf0000);
  assert.equal(given(glibc, [0, 1]), undefined);
  assert.equal(given(`${glibc}/usr/lib/libjemalloc.so.2`, [0, 0x10001]), undefined);
  assert.equal(given(`${heap}/lib/ld-musl-x86_64.so.1`, [0, 0x10001]), undefined);
  assert.equal(given(glibc.replace('[heap]', ''), [0, 0x10001]), undefined);
  assert.equal(open, 0);
});

test('reads each tmpfs from mountinfo that no other mount hides, and the resident bytes of System V memory', () => {
  const rows = [
    '25 24 0:23 / /dev/shm rw,relatime - tmpfs tmpfs rw',
    '26 24 0:23 / /mnt/same rw shared:1 - tmpfs tmpfs rw',
    '30 25 0:27 / /dev/shm rw,relatime - tmpfs tmpfs rw',
    '31 23 0:28 / /run/a\\040b rw master:1 - tmpfs none rw',
    '24 27 0:6 / /dev rw - devtmpfs devtmpfs rw',
    'torn',
  ];
  assert.deepEqual(tmpfsMounts(rows.join('\n')), ['/dev/shm', '/run/a b']);
  assert.equal(systemVBytes('key shmid rss swap\n 0 1 4096 0\n 0 2 8192 0\n'), 12288);
  assert.equal(systemVBytes(''), 0);
});

test('reads the busy time of all CPUs or one from /proc/stat, without steal and interrupts', () => {
  const text = 'cpu  10 1 20 100 5 2 3 4 50 60\ncpu0 10 0 0 60\ncpu1 20 0 0 10\ncpu10 1 0 0 1\n';
  for (const [name, ...ticks] of [
    ['cpu', 40, 105, 4, 5],
    ['cpu1', 20, 10, 0, 0],
  ] as const) {
    const { busyUs, idleUs, stealUs, interruptUs } = kernel.parseCpu(text, name) ?? assert.fail();
    assertEach([busyUs, idleUs, stealUs, interruptUs], (us) => us / kernel.CLOCK_TICK_US, ticks);
  }
});

test('converts the memory pages in sockstat to bytes', () => {
  const sockstat = 'sockets: used 14\nTCP: inuse 5 orphan 1 tw 7 alloc 9 mem 261\nUDP: inuse 0 mem 3\n';
  assert.equal(kernel.parseSockstat(sockstat), 261 * kernel.PAGE_SIZE_BYTES);
  assert.throws(() => kernel.parseSockstat('UDP: inuse 0 mem 3\n'), /no TCP line/);
});

test('reads whole slabs of the caches of open sockets from slabinfo', () => {
  const row = (name: string, pagesPerSlab: number, slabs: number) =>
    `${name}   52 52 2368 13 ${pagesPerSlab} : tunables 0 0 0 : slabdata ${slabs} ${slabs} 0`;
  const caches = [row('TCP', 8, 4), row('sock_inode_cache', 4, 6)];
  const others = [row('tw_sock_TCP', 1, 2), row('dentry', 1, 9999), row('TCP_other', 1, 9999)];
  const text = ['slabinfo - version: 2.1', ...caches, ...others].join('\n');
  assert.equal(kernel.parseSlabinfo(text), (32 + 24) * kernel.PAGE_SIZE_BYTES);
  assert.throws(() => kernel.parseSlabinfo(row('dentry', 1, 1)), /no socket caches/);
});

test('converts the kB in meminfo to bytes', () => {
  const rows = [
    'MemTotal: 1000',
    'MemFree: 300',
    'MemAvailable:   650',
    'Buffers: 50',
    'Cached: 250',
    'PageTables:  7',
    'AnonPages: 120',
    'Shmem: 40',
    'SUnreclaim: 30',
    'KernelStack: 4',
  ];
  const figures = kernel.parseMeminfo(rows.map((row) => `${row} kB\n`).join(''));
  const programs = { anonymousBytes: 120, sharedBytes: 40, kernelBytes: 34, pageTablesBytes: 7 };
  const expected = { usedBytes: 350, heldBytes: 440, ...programs };
  assert.deepEqual({ ...figures }, Object.fromEntries(Object.entries(expected).map(([key, kb]) => [key, kb * 1024])));
  assert.throws(() => kernel.parseMeminfo('MemTotal: 1 kB\n'), /MemAvailable/);
});

test('reads swapping from vmstat, compressed or on a disk', () => {
  const text = 'pgpgin 9\npswpin 2\npswpout 3\nswap_ra 7\nzswpin 1\nzswpout 5\nzswpwb 6\n';
  assert.deepEqual(kernel.parseVmstat(text), {
    inBytes: 3 * kernel.PAGE_SIZE_BYTES,
    outBytes: 8 * kernel.PAGE_SIZE_BYTES,
  });
  assert.deepEqual(kernel.parseVmstat('pswpin 1\npswpout 0\n'), { inBytes: kernel.PAGE_SIZE_BYTES, outBytes: 0 });
  assert.throws(() => kernel.parseVmstat('pgpgin 9\n'), /no pswpin/);
});

test('reads the output of Redis INFO with sections, empty values and colons in values', () => {
  const info = parseInfo(
    '# Server\r\nredis_version:7.0.15\r\nconfig_file:\r\nexecutable:/a:b\r\n\r\nused_memory:123\r\n',
  );
  const expected = { redis_version: '7.0.15', config_file: '', executable: '/a:b', used_memory: '123' };
  assert.deepEqual(Object.fromEntries(info), expected);
});

const NAME = 'process_resident_memory_bytes';
const QUERY = { url: 'http://10.0.0.11/metrics', labels: {} };

function linesOf(count: number, line: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => `${line(index)}\n`).join('');
}

describe('a page of metrics', () => {
  const rest = ['', ' -5', ' 1e300', ' +Inf', ' NaN', ' 5x', '{a="x} 5', `{a="${'\\'.repeat(101)}} 5`];
  for (const one of rest) {
    it(`refuses a metrics page with ${JSON.stringify(one).slice(0, 20)} as a value`, () => {
      assert.throws(() => readPage(`${NAME}${one}\n`, QUERY), /impossible value/);
    });
  }

  it('reads a metrics page in linear time', () => {
    const beganMs = performance.now();
    const { values } = readPage(
      linesOf(50_000, (index) => `container_memory_working_set_bytes{id="/${index}"} 1`),
      QUERY,
    );
    assert.equal(values.container_memory_working_set_bytes, 50_000);
    assert.ok(performance.now() - beganMs < 5000);
  });

  it('reads a metrics page with more samples than a function can have arguments', () => {
    const { figures } = readPage(
      linesOf(150_000, (index) => `${NAME}{id="${index}"} 1`),
      QUERY,
    );
    assert.equal(figures.rssBytes, 150_000);
  });

  it('parses a metrics page in pieces, and keeps only needed lines', () => {
    const page = new PageLines();
    const sent = Buffer.from(`${linesOf(20_000, (index) => `é_bucket{le="${index}"} 1`)}${NAME}{a="é"} 7`);
    for (let at = 0; at < sent.length; at += 999) page.add(sent.subarray(at, at + 999));
    assert.equal(readPage(page.text(), QUERY).figures.rssBytes, 7);
    assert.ok(page.text().length < 30_000);
  });

  it('refuses a metrics page with too many of the needed lines', () => {
    const page = new PageLines();
    const lines = Buffer.from(linesOf(20_000, (index) => `${NAME}{id="${index}"} 1`));
    page.add(lines);
    assert.throws(() => {
      for (let added = 0; added < 100; added++) page.add(lines);
    }, /more than/);
  });

  it('refuses a metrics page with a line that is too long', () => {
    assert.throws(() => new PageLines().add(Buffer.alloc(100_000, 'x')), /line/);
  });
});
