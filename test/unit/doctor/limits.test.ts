import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findLimits, highestFitting } from '../../../plugin/doctor/check-limits.ts';
import { diagnose } from '../../../plugin/doctor/diagnosis.ts';
import type { DoctorLimitName } from '../../../plugin/doctor/doctor-checks.ts';
import type { DoctorSituation } from '../../../plugin/doctor/situation.ts';
import { assertEach } from '../../helpers/columns.ts';
import { remote, situation } from '../../helpers/situation.ts';

const limitOf = (name: DoctorLimitName, from: DoctorSituation) => findLimits(from).find((limit) => limit.name === name);
const maxOf = (name: DoctorLimitName, from: DoctorSituation) => limitOf(name, from)?.max;

const files = (hard: number, ceiling = 2 ** 20) => ({ openFiles: { soft: hard, hard, ceiling } });
const narrow = { ephemeralPorts: { first: 40_000, last: 40_999 } };
const embedded = { profile: 'embedded' as const, workers: 1, starts: { nginx: false, redis: 0, pm2: true } };
const up = { kind: 'up' as const, workers: 2, plannedFor: 10_000, starts: { nginx: false, redis: 0, pm2: false } };
const system = { systemFiles: { max: 101_000, used: 1000 } };
const conntrack = { conntrack: { max: 20_000, used: 0 } };
const localAddresses = ['10.0.0.1', '10.0.0.2'];
/** Each connection leaves two ports in TIME_WAIT for 60 s, in addition to its own port. */
const upgrading = { socketsLeft: 2, ratePerSec: 100, connections: 32_000 };
/** Load of 200 concurrent connections and 6,000 connections per minute. */
const shortLived = { socketsLeft: 2, ratePerSec: 100, connections: 200, turnover: 50 };

const few = { load: { connections: 5000 }, machine: narrow };
const half = { connections: 500_000 };
const odd = { machine: { ephemeralPorts: { first: 40_000, last: 40_400 } }, load: { connections: 500 } };
const oneAddress = { machine: { manyLoopbackAddresses: false } };
const nrOpen = 'sysctl -w fs.nr_open=32200 && ulimit -n 32200 (as root)';
const reused = { load: upgrading, machine: { timeWaitReuse: 'all' as const } };
const official = { client: 'official' as const };
const external = { client: 'external' as const };
const rarelyPinged = { load: half, deployment: { ping: { intervalMs: 44_000, timeoutMs: 1 } } };

/**
 * Row of a limit: title, situation, number of connections that the limit allows (null: any number; undefined: it does
 * not apply), and how to raise it.
 */
type Row = [title: string, from: DoctorSituation, max: number | null | undefined, raise?: string | RegExp];

const ROWS: Partial<Record<DoctorLimitName, Row[]>> = {
  generatorFiles: [
    ['64 processes', situation({ machine: files(600) }), 64 * 400, 'ulimit -n 700 (as root)'],
    ['three Artillery workers', situation({ machine: { ...files(600), artilleryWorkers: 3 } }), 76_800],
    ['polling', situation({ machine: files(600), load: { sockets: 2 } }), 12_800, /^ulimit -n 1200/],
    ['external engine', situation({ load: external }), 19_800, /^ulimit -n 32200/],
    ['fs.nr_open', situation({ machine: files(1024, 4096), load: external }), 824, nrOpen],
  ],
  workerFiles: [
    ['the required number of workers', situation(), null],
    ['two workers', situation({ deployment: { workers: 2 } }), 2 * (20_000 - 256)],
    ['embedded', situation({ deployment: embedded }), 19_744, 'ulimit -n 32256 (as root)'],
  ],
  nginxConnections: [['no nginx', situation({ deployment: embedded }), undefined]],
  systemFiles: [
    ['two hops', situation({ machine: system }), 25_000, 'sysctl -w fs.file-max=129000'],
    ['one hop', situation({ machine: system, deployment: { profile: null } }), 50_000],
    ['one end', remote({ machine: system }), 100_000],
  ],
  generatorPorts: [
    ['rotating addresses', situation(), null],
    ['rotating addresses, official client', situation({ load: official }), null],
    ['one address', remote(), 28_232],
    ['an odd range', situation(odd), 400],
    ['all ports', remote({ load: { connections: 60_000 } }), 28_232, /range="5535 65535"; or .*list 2 addresses/],
    ['few on loopback', situation(few), 1000],
    ['many on loopback', situation({ machine: narrow }), null],
    ['many on loopback, official client', situation({ machine: narrow, load: official }), 1000],
    ['TIME_WAIT after an upgrade', remote({ load: upgrading }), 28_232 - 2 * 60 * 100, /tw_reuse=1; or .*21535 65535/],
    ['a faster ramp', remote({ load: { ...upgrading, ratePerSec: 5000 } }), Math.floor(28_232 / 3)],
    ['reuse', remote(reused), 28_232 - 2 * 100],
    ['reuse on loopback', situation({ load: upgrading }), null],
    ['reuse on two addresses', remote({ load: { ...upgrading, localAddresses } }), 2 * 30_768 - 12_000],
    ['short-lived users', remote({ load: shortLived }), 28_232 - 2 * 6000],
    ['few short-lived users', remote({ load: { ...shortLived, ratePerSec: 5000, turnover: 5 } }), 2566],
    ['too many short-lived users', remote({ load: { ...shortLived, ratePerSec: 300, turnover: 500 } }), 28],
    ['source ports of the light client', remote({ load: { localAddresses, connections: 100 } }), 2 * 30_768],
    ['the kernel’s range', remote({ load: { localAddresses, ...official } }), 2 * 28_232],
    ['macOS', situation(oneAddress), 10_000, /^ifconfig lo0 alias 127\.0\.0\.2.*127\.0\.0\.5$/],
  ],
  proxyPorts: [
    ['a planned stack', situation(), null],
    ['a narrow range', situation(few), 2000],
    ['a stack that is up', situation({ deployment: up }), 2 * 28_232],
  ],
  conntrack: [
    ['two entries through the stack', situation({ machine: conntrack }), 10_000],
    ['one entry', remote({ machine: conntrack }), 20_000],
    ['no tracking', situation(), undefined],
  ],
  // Each ping needs 87 µs of a worker, 47 of nginx and 42 of the generator, every 25 s, on two cores.
  pings: [
    ['the stack', situation(), 284_090],
    ['more cores', situation({ machine: { cores: 8 } }), 4 * 284_091 - 1],
    ['a quota', situation({ machine: { cores: 0.5, cpuQuota: 0.5 } }), 71_022, /, or a CPU quota of 1 cores$/],
    ['without nginx', situation({ deployment: embedded }), Math.floor(50 / 129e-6)],
    ['a server elsewhere', remote(), undefined],
    ['half a million', situation({ load: half }), 284_090, 'CAPACITY_PING_INTERVAL_MS=44000, or 4 cores'],
    ['the suggested interval', situation(rarelyPinged), 500_000],
  ],
};

describe('limits', () => {
  for (const [name, rows] of Object.entries(ROWS) as [DoctorLimitName, Row[]][]) {
    it(`the doctor computes the limit ${name} and its fix`, () => {
      for (const [title, from, max, raise] of rows) {
        const limit = limitOf(name, from);
        assert.equal(limit?.max, max, title);
        if (typeof raise === 'string') assert.equal(limit?.raise, raise, title);
        else if (raise) assert.match(limit?.raise ?? '', raise, title);
      }
    });
  }

  it('the doctor reports no nginx limit for a stack that it will size itself, even with few open files', () => {
    for (const hard of [512, 600, 1024, 20_000]) {
      for (const connections of [100, 3149, 100_800, 1_000_000]) {
        const planned = situation({ machine: files(hard), load: { connections } });
        assert.equal(maxOf('nginxConnections', planned), null, `${connections} with ${hard} files`);
      }
    }
  });

  it('the doctor allows slightly more connections through a running nginx than it was planned for', () => {
    const limit = limitOf('nginxConnections', situation({ deployment: up }));
    assert.ok(limit?.max && limit.max > 10_000 && limit.max < 13_000, String(limit?.max));
    assert.equal(limit.raise, 'npx socketio-capacity stack down && npx socketio-capacity stack up --connections 32000');
  });

  it('the doctor expects more memory for a local stack, the official client or compression', () => {
    const machine = { memoryAvailableBytes: 8 * 2 ** 30 };
    const of = (from: DoctorSituation) => maxOf('machineMemory', from) ?? 0;
    const [local, light] = [of(situation({ machine })), of(remote({ machine }))];
    assert.ok(local > 100_000 && local < 150_000, String(local));
    assert.ok(light > 3 * local && of(remote({ machine, load: { client: 'official' } })) < light / 2);
    const compressed = of(situation({ machine, load: { compression: true } }));
    assert.ok(compressed > 15_000 && compressed < local / 4, String(compressed));
    assert.ok(of(remote({ machine, load: { compression: true } })) < light / 4);
    const small = { memoryAvailableBytes: 2 * 2 ** 30 };
    assert.ok(of(situation({ machine: small, deployment: up })) > of(situation({ machine: small })) + 3000);
    const contained = findLimits(situation({ machine: { ...small, memoryLimitedBy: 'container' } }));
    const memory = contained.map(({ name }) => name).filter((name) => name.endsWith('Memory'));
    assert.deepEqual(memory, ['containerMemory']);
  });
});

describe('the highest number that fits', () => {
  it('highest() returns the largest fitting number in the range of the request, or in the next lower range', () => {
    const maxima = [0, 1, 2, 999, 1000, 1001, 1_000_000];
    assertEach(maxima, (max) => highestFitting((n) => n <= max, 1000), maxima);
    const all = () => true;
    assert.equal(highestFitting(all, 1000), null);
    const fits = (n: number) => n <= 100 || (n > 1000 && n <= 1500);
    assert.deepEqual([highestFitting(fits, 500), highestFitting(fits, 1200)], [100, 1500]);
  });
});

describe('a diagnosis', () => {
  it('the doctor approves 100,000 connections by default, and 100 in a container with half a core', () => {
    assert.ok(diagnose(situation()).fits);
    assert.ok(diagnose(situation({ load: { connections: 100_000 } })).fits);
    assert.ok(diagnose(situation({ machine: { cores: 0.5, cpuQuota: 0.5 }, load: { connections: 100 } })).fits);
  });

  it('the doctor lists missing programs that the run would start', () => {
    const machine = { missing: ['nginx' as const, 'redis-server' as const, 'pm2' as const] };
    assert.deepEqual(diagnose(situation({ machine })).missing, ['nginx', 'redis-server', 'pm2']);
    const starts = { nginx: true, redis: 0, pm2: true };
    assert.deepEqual(diagnose(situation({ machine, deployment: { starts } })).missing, ['nginx', 'pm2']);
    assert.deepEqual(diagnose(remote({ machine })).missing, []);
  });

  it('the doctor lists the lowest of several limits first', () => {
    const machine = { ...files(600), systemFiles: { max: 41_000, used: 1000 } };
    const { fits, highest, bottleneck, limits } = diagnose(situation({ machine }));
    assert.deepEqual({ fits, highest, bottleneck }, { fits: false, highest: 10_000, bottleneck: 'systemFiles' });
    assert.equal(limits[1]?.name, 'generatorFiles');
  });
});
