import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { diagnose } from '../../../plugin/doctor/diagnosis.ts';
import { findLimits, highest } from '../../../plugin/doctor/limits.ts';
import type { Situation } from '../../../plugin/doctor/situation.ts';
import { remote, situation } from '../../helpers/situation.ts';

const limitOf = (name: string, from: Situation) => findLimits(from).find((limit) => limit.name === name);
const maxOf = (name: string, from: Situation) => limitOf(name, from)?.max;
const files = (hard: number) => ({ openFiles: { soft: hard, hard, ceiling: 2 ** 20 } });

describe('highest', () => {
  it('finds the end of what fits, from below and from above', () => {
    const upTo = (max: number) => (n: number) => n <= max;
    for (const max of [1, 2, 999, 1000, 1001, 1_000_000]) assert.equal(highest(upTo(max), 1000), max);
    assert.equal(highest(upTo(0), 1000), 0);
    assert.equal(
      highest(() => true, 1000),
      null,
    );
  });

  it('keeps to the stretch that the asked number lies in', () => {
    const fits = (n: number) => n <= 100 || (n > 1000 && n <= 1500);
    assert.equal(highest(fits, 500), 100);
    assert.equal(highest(fits, 1200), 1500);
  });
});

describe('files', () => {
  it('of the generator: 64 processes of each Artillery worker', () => {
    assert.equal(maxOf('generatorFiles', situation({ machine: files(600) })), 64 * 400);
    assert.equal(maxOf('generatorFiles', situation({ machine: { ...files(600), artilleryWorkers: 3 } })), 3 * 64 * 400);
    assert.equal(limitOf('generatorFiles', situation({ machine: files(600) }))?.raise, 'ulimit -n 700 (as root)');
  });

  it('count polling connections twice, as they hold two TCP connections', () => {
    const polling = situation({ machine: files(600), load: { sockets: 2 } });
    assert.equal(maxOf('generatorFiles', polling), 32 * 400);
    assert.equal(limitOf('generatorFiles', polling)?.raise, 'ulimit -n 1200 (as root)');
  });

  it('of an external engine: one process', () => {
    const from = situation({ load: { client: 'external' } });
    assert.equal(maxOf('generatorFiles', from), 19_800);
    assert.equal(limitOf('generatorFiles', from)?.raise, 'ulimit -n 32200 (as root)');
  });

  it('names fs.nr_open where the hard limit cannot be raised so far', () => {
    const from = situation({
      machine: { openFiles: { soft: 1024, hard: 1024, ceiling: 4096 } },
      load: { client: 'external' },
    });
    assert.equal(limitOf('generatorFiles', from)?.raise, 'sysctl -w fs.nr_open=32200 && ulimit -n 32200 (as root)');
  });

  it('of nginx: no limit where its workers follow the target, however few files each may open', () => {
    for (const hard of [512, 600, 1024, 20_000]) {
      for (const connections of [100, 3149, 100_800, 1_000_000]) {
        const planned = situation({ machine: files(hard), load: { connections } });
        assert.equal(maxOf('nginxConnections', planned), null, `${connections} with ${hard} files`);
      }
    }
  });

  it('of the workers: no limit where their number follows the target, else their sum', () => {
    assert.equal(maxOf('workerFiles', situation()), null);
    assert.equal(maxOf('workerFiles', situation({ deployment: { workers: 2 } })), 2 * (20_000 - 256));
    const embedded = { profile: 'embedded' as const, workers: 1, starts: { nginx: false, redis: 0, pm2: true } };
    const from = situation({ deployment: embedded });
    assert.equal(maxOf('workerFiles', from), 19_744);
    assert.equal(limitOf('workerFiles', from)?.raise, 'ulimit -n 32256 (as root)');
    assert.equal(maxOf('nginxConnections', from), undefined);
  });

  it('of the system: four of a connection through the stack, two on one hop, one towards another machine', () => {
    const machine = { systemFiles: { max: 101_000, used: 1000 } };
    assert.equal(maxOf('systemFiles', situation({ machine })), 25_000);
    assert.equal(maxOf('systemFiles', situation({ machine, deployment: { profile: null } })), 50_000);
    assert.equal(maxOf('systemFiles', remote({ machine })), 100_000);
    assert.equal(limitOf('systemFiles', situation({ machine }))?.raise, 'sysctl -w fs.file-max=129000');
  });
});

describe('source ports', () => {
  const narrow = { ephemeralPorts: { first: 40_000, last: 40_999 } };

  it('are no limit on loopback, where addresses rotate', () => {
    assert.equal(maxOf('generatorPorts', situation()), null);
    assert.equal(maxOf('generatorPorts', situation({ load: { client: 'official' } })), null);
  });

  it('are the kernel’s range for one address, of an odd one the last left out', () => {
    assert.equal(maxOf('generatorPorts', remote()), 28_232);
    const odd = { ephemeralPorts: { first: 40_000, last: 40_400 } };
    assert.equal(maxOf('generatorPorts', situation({ machine: odd, load: { connections: 500 } })), 400);
    const from = remote({ load: { connections: 60_000 } });
    assert.match(
      limitOf('generatorPorts', from)?.raise ?? '',
      /ip_local_port_range="5535 65535"; or .*list 2 addresses/,
    );
  });

  it('limit the few that come from one loopback address, and not the many that rotate', () => {
    assert.equal(maxOf('generatorPorts', situation({ machine: narrow, load: { connections: 5000 } })), 1000);
    assert.equal(maxOf('generatorPorts', situation({ machine: narrow })), null);
    assert.equal(maxOf('generatorPorts', situation({ machine: narrow, load: { client: 'official' } })), 1000);
  });

  it('also take those that polling leaves in TIME_WAIT when a connection changes to WebSocket', () => {
    const load = { socketsLeft: 2, ratePerSec: 100, connections: 32_000 };
    // Two for each connection of the last 60 s, beside the one that it keeps.
    assert.equal(maxOf('generatorPorts', remote({ load })), 28_232 - 2 * 60 * 100);
    assert.match(
      limitOf('generatorPorts', remote({ load }))?.raise ?? '',
      /^sysctl -w net\.ipv4\.tcp_tw_reuse=1; or .*range="21535 65535"; or .*list 2 addresses/,
    );
    // A faster ramp is over before the first port comes back.
    assert.equal(maxOf('generatorPorts', remote({ load: { ...load, ratePerSec: 5000 } })), Math.floor(28_232 / 3));
    const reusing = remote({ load, machine: { timeWaitReuse: 'all' } });
    assert.equal(maxOf('generatorPorts', reusing), 28_232 - 2 * 100);
    const localAddresses = ['10.0.0.1', '10.0.0.2'];
    assert.equal(maxOf('generatorPorts', remote({ load: { ...load, localAddresses } })), 2 * 30_768 - 12_000);
    // The kernel takes ports on loopback again.
    assert.equal(maxOf('generatorPorts', situation({ load })), null);
  });

  it('also take those of virtual users that have come and gone', () => {
    // 200 at once, and 6,000 in the last minute.
    const load = { socketsLeft: 2, ratePerSec: 100, connections: 200, turnover: 50 };
    assert.equal(maxOf('generatorPorts', remote({ load })), 28_232 - 2 * 6000);
    assert.equal(maxOf('generatorPorts', remote({ load: { ...load, ratePerSec: 200 } })), 28_232 - 2 * 12_000);
    // 5 in all for each that exists at the same time: too few to fill the minute.
    assert.equal(
      maxOf('generatorPorts', remote({ load: { ...load, ratePerSec: 5000, turnover: 5 } })),
      Math.floor(28_232 / 11),
    );
    // At this rate, the ports of a minute do not suffice for any.
    assert.equal(maxOf('generatorPorts', remote({ load: { ...load, ratePerSec: 300, turnover: 500 } })), 28);
  });

  it('of listed addresses: the light client’s own count, or the kernel’s range', () => {
    const localAddresses = ['10.0.0.1', '10.0.0.2'];
    assert.equal(maxOf('generatorPorts', remote({ load: { localAddresses, connections: 100 } })), 2 * 30_768);
    assert.equal(maxOf('generatorPorts', remote({ load: { localAddresses, client: 'official' } })), 2 * 28_232);
  });

  it('where there is only one loopback address', () => {
    const from = situation({ machine: { manyLoopbackAddresses: false } });
    assert.equal(maxOf('generatorPorts', from), 10_000);
    assert.match(limitOf('generatorPorts', from)?.raise ?? '', /^ifconfig lo0 alias 127\.0\.0\.2.*127\.0\.0\.5$/);
  });

  it('towards the workers: the range for each address and worker', () => {
    assert.equal(maxOf('proxyPorts', situation()), null);
    assert.equal(maxOf('proxyPorts', situation({ machine: narrow, load: { connections: 5000 } })), 2000);
  });
});

describe('a stack that is up', () => {
  const up = {
    kind: 'up' as const,
    workers: 2,
    plannedFor: 10_000,
    starts: { nginx: false, redis: 0, pm2: false },
  };

  it('holds what it was planned for, and somewhat more', () => {
    const limit = limitOf('nginxConnections', situation({ deployment: up }));
    assert.ok(limit?.max && limit.max > 10_000 && limit.max < 13_000, String(limit?.max));
    assert.equal(limit.raise, 'npx socketio-capacity stack down && npx socketio-capacity stack up --connections 32000');
    assert.equal(maxOf('proxyPorts', situation({ deployment: up })), 2 * 28_232);
  });

  it('needs no memory for its start', () => {
    const machine = { memoryAvailableBytes: 2 * 2 ** 30 };
    const standing = maxOf('machineMemory', situation({ machine, deployment: up })) ?? 0;
    assert.ok(standing > (maxOf('machineMemory', situation({ machine })) ?? 0) + 3000);
  });
});

it('memory: a local stack’s connection takes several times a remote one’s', () => {
  const machine = { memoryAvailableBytes: 8 * 2 ** 30 };
  const local = maxOf('machineMemory', situation({ machine })) ?? 0;
  assert.ok(local > 100_000 && local < 150_000, String(local));
  const official = maxOf('machineMemory', remote({ machine, load: { client: 'official' } })) ?? 0;
  const light = maxOf('machineMemory', remote({ machine })) ?? 0;
  assert.ok(light > 3 * local && official < light / 2, `${light} ${official}`);
  const compressed = maxOf('machineMemory', situation({ machine, load: { compression: true } })) ?? 0;
  assert.ok(compressed > 15_000 && compressed < local / 4, String(compressed));
  assert.ok((maxOf('machineMemory', remote({ machine, load: { compression: true } })) ?? 0) < light / 4);
});

it('connection tracking: two entries through the stack, one otherwise; none where it does not track', () => {
  const machine = { conntrack: { max: 20_000, used: 0 } };
  assert.equal(maxOf('conntrack', situation({ machine })), 10_000);
  assert.equal(maxOf('conntrack', remote({ machine })), 20_000);
  assert.equal(maxOf('conntrack', situation()), undefined);
});

it('PM2’s max_memory_restart, where somebody has set it', () => {
  const deployment = { workerRestartBytes: 285 * 2 ** 20, workers: 2 };
  assert.equal(maxOf('workerRestart', situation({ deployment })), 2 * 10_240);
});

describe('diagnosis', () => {
  it('fits by default at 32,000 and at 100,000', () => {
    assert.equal(diagnose(situation()).fits, true);
    assert.equal(diagnose(situation({ load: { connections: 100_000 } })).fits, true);
  });

  it('names programs that are missing and would be started', () => {
    const machine = { missing: ['nginx' as const, 'redis-server' as const, 'pm2' as const] };
    assert.deepEqual(diagnose(situation({ machine })).missing, ['nginx', 'redis-server', 'pm2']);
    const starts = { nginx: true, redis: 0, pm2: true };
    assert.deepEqual(diagnose(situation({ machine, deployment: { starts } })).missing, ['nginx', 'pm2']);
    assert.deepEqual(diagnose(remote({ machine })).missing, []);
  });

  it('names the lowest of several limits first', () => {
    const machine = { ...files(600), systemFiles: { max: 41_000, used: 1000 } };
    const { fits, highest, bottleneck, limits } = diagnose(situation({ machine }));
    assert.deepEqual({ fits, highest, bottleneck }, { fits: false, highest: 10_000, bottleneck: 'systemFiles' });
    assert.deepEqual(
      limits.slice(0, 2).map(({ name }) => name),
      ['systemFiles', 'generatorFiles'],
    );
  });
});

it('pings take CPU: less with a longer interval, with fewer parts on this machine, and with more cores', () => {
  // 87 µs of a worker, 47 of nginx and 42 of the generator for each ping, every 25 s, on two cores.
  assert.equal(maxOf('pings', situation()), 284_090);
  assert.equal(maxOf('pings', situation({ machine: { cores: 8 } })), 4 * 284_091 - 1);
  const embedded = { profile: 'embedded' as const, workers: 1, starts: { nginx: false, redis: 0, pm2: true } };
  assert.equal(maxOf('pings', situation({ deployment: embedded })), Math.floor(50 / 129e-6));
  assert.equal(maxOf('pings', remote()), undefined, 'the server elsewhere decides how often it pings');
  const large = situation({ load: { connections: 500_000 } });
  assert.equal(limitOf('pings', large)?.raise, 'CAPACITY_PING_INTERVAL_MS=44000, or 4 cores');
  const longer = situation({
    load: { connections: 500_000 },
    deployment: { ping: { intervalMs: 44_000, timeoutMs: 1 } },
  });
  assert.equal(maxOf('pings', longer), 500_000);
});
