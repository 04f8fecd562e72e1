import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { throttledBetween } from '../../../plugin/run/windows/resource-windows.ts';
import { readCgroup } from '../../../protocol/base/machine/cgroup.ts';
import {
  allowedCpus,
  availableMemory,
  lowestCpuQuota,
  lowestLimit,
  usableCores,
} from '../../../protocol/base/machine/usable.ts';
import { columns } from '../../helpers/columns.ts';
import { fileTree } from '../../helpers/file-tree.ts';

const MB = 2 ** 20;
const V2 = '30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n';
const V1 = ['cpu', 'memory', 'pids']
  .map(
    (name, index) => `${32 + index} 31 0:3${index} / /sys/fs/cgroup/${name} rw,relatime - cgroup cgroup rw,${name}\n`,
  )
  .join('');

/** @param groups files below /sys/fs/cgroup */
function tree(t: TestContext, mountinfo: string, cgroup: string, groups: Record<string, string>): string {
  const files = Object.entries(groups).map(([path, text]) => [`sys/fs/cgroup/${path}`, text] as const);
  return fileTree(t, {
    'proc/self/mountinfo': `23 1 8:1 / / rw - ext4 /dev/root rw\n${mountinfo}`,
    'proc/self/cgroup': cgroup,
    'proc/self/status': 'Name:\tnode\nCpus_allowed_list:\t0-2,6\n',
    ...Object.fromEntries(files),
  });
}

describe('version 2', () => {
  it('reads the cgroup v2 limits of a container that sees its own group as the root', (t) => {
    const found = readCgroup(
      tree(t, V2, '0::/\n', {
        'cpu.max': '12000 100000\n',
        'cpu.stat': 'usage_usec 9\nnr_periods 1969\nnr_throttled 743\nthrottled_usec 5600000\n',
        'memory.max': `${512 * MB}\n`,
        'memory.current': `${200 * MB}\n`,
        'memory.stat': `anon 5\ninactive_file ${50 * MB}\n`,
        'pids.max': '100\n',
        'pids.current': '12\n',
      }),
    );
    assert.deepEqual(found, {
      cpu: [{ cores: 0.12, periods: 1969, throttledPeriods: 743, throttledUs: 5_600_000, group: '/' }],
      memory: [{ max: 512 * MB, used: 150 * MB, group: '/' }],
      tasks: [{ max: 100, used: 12, group: '/' }],
    });
  });

  it('uses the lowest cgroup v2 limit of all parent groups', (t) => {
    const root = tree(t, V2, '0::/kubepods/pod7/c1\n', {
      'kubepods/pod7/c1/cpu.max': '200000 100000\n',
      'kubepods/pod7/c1/memory.max': 'max\n',
      'kubepods/pod7/c1/memory.current': '4096\n',
      'kubepods/pod7/cpu.max': '50000 100000\n',
      'kubepods/pod7/memory.max': `${1024 * MB}\n`,
      'kubepods/pod7/memory.current': `${1000 * MB}\n`,
      'kubepods/pod7/memory.stat': 'inactive_file 0\n',
      'kubepods/memory.max': `${4096 * MB}\n`,
      'kubepods/memory.current': `${3000 * MB}\n`,
    });
    const found = readCgroup(root);
    assert.deepEqual(columns(found.cpu, 'cores', 'group'), {
      cores: [2, 0.5],
      group: ['/kubepods/pod7/c1', '/kubepods/pod7'],
    });
    assert.equal(lowestCpuQuota(found), 0.5);
    assert.equal(usableCores(root), 0.5);
    assert.equal(lowestLimit(found.memory, 8192 * MB)?.max, 1024 * MB);
    assert.equal(lowestLimit(found.memory, 512 * MB), undefined, 'the machine has less');
    assert.deepEqual(availableMemory(found, 8192 * MB), { bytes: 24 * MB, limitedBy: 'container' });
    assert.deepEqual(availableMemory(found, 20 * MB), { bytes: 20 * MB, limitedBy: 'machine' });
  });

  it('reads cgroup v2 limits without readable statistics, and reports the usage as unknown, not 0', (t) => {
    const limits = { 'cpu.max': '50000 100000\n', 'memory.max': `${64 * MB}\n` };
    const found = readCgroup(tree(t, V2, '0::/\n', { ...limits, 'memory.current': '4096\n' }));
    const unknown = { cpu: [{ cores: 0.5, group: '/' }], memory: [{ max: 64 * MB, group: '/' }], tasks: [] };
    assert.deepEqual(found, unknown);
    assert.equal(throttledBetween(found.cpu, found.cpu), undefined);
    assert.equal(availableMemory(found, MB).limitedBy, 'machine');
    assert.deepEqual(readCgroup(tree(t, V2, '0::/\n', limits)), unknown, 'nor without its use');
  });

  it('reads the value "max" of a cgroup v2 limit as no limit', (t) => {
    const root = tree(t, V2, '0::/user.slice\n', {
      'user.slice/cpu.max': 'max 100000\n',
      'user.slice/memory.max': 'max\n',
      'user.slice/memory.current': '4096\n',
      'user.slice/pids.max': 'max\n',
      'user.slice/pids.current': '3\n',
    });
    const found = readCgroup(root);
    assert.deepEqual(found, { cpu: [], memory: [], tasks: [] });
    assert.equal(usableCores(root), 4);
    assert.equal(availableMemory(found, MB).limitedBy, 'machine');
  });
});

describe('version 1', () => {
  it('reads cgroup v1 with one hierarchy for each controller, where "no limit" is a number', (t) => {
    const found = readCgroup(
      tree(t, V1, '8:pids:/\n4:memory:/box\n1:cpu,cpuacct:/box/in\n0::/\n', {
        'cpu/box/in/cpu.cfs_quota_us': '-1\n',
        'cpu/box/in/cpu.cfs_period_us': '100000\n',
        'cpu/box/cpu.cfs_quota_us': '150000\n',
        'cpu/box/cpu.cfs_period_us': '100000\n',
        'cpu/box/cpu.stat': 'nr_periods 10\nnr_throttled 2\nthrottled_time 3000000\n',
        'memory/box/memory.limit_in_bytes': `${256 * MB}\n`,
        'memory/box/memory.usage_in_bytes': `${100 * MB}\n`,
        'memory/box/memory.stat': `inactive_file 1\ntotal_inactive_file ${10 * MB}\n`,
        'memory/memory.limit_in_bytes': '9223372036854771712\n',
        'memory/memory.usage_in_bytes': '5000\n',
        'pids/pids.max': 'max\n',
      }),
    );
    assert.deepEqual(found, {
      cpu: [{ cores: 1.5, periods: 10, throttledPeriods: 2, throttledUs: 3000, group: '/box' }],
      memory: [{ max: 256 * MB, used: 90 * MB, group: '/box' }],
      tasks: [],
    });
  });

  it('reads the cgroup v1 limits of a container that sees only its own group by its full name', (t) => {
    const mounted = '40 31 0:40 /docker/c1 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n';
    const found = readCgroup(
      tree(t, mounted, '4:memory:/docker/c1\n', {
        'memory/memory.limit_in_bytes': `${64 * MB}\n`,
        'memory/memory.usage_in_bytes': '4096\n',
        'memory/memory.stat': 'total_inactive_file 0\n',
      }),
    );
    assert.deepEqual(found.memory, [{ max: 64 * MB, used: 4096, group: '/docker/c1' }]);
  });
});

describe('no control group', () => {
  it('reports no cgroup limit without /proc, or if the file system does not show the group', (t) => {
    const nothing = { cpu: [], memory: [], tasks: [] };
    assert.deepEqual(readCgroup(fileTree(t, {})), nothing);
    assert.deepEqual(readCgroup(tree(t, '', '0::/x\n', {})), nothing);
    assert.deepEqual(readCgroup(tree(t, V2, '0::/gone\n', {})), nothing);
  });
});

it('counts the CPUs that a cpuset or an affinity mask allows', (t) => {
  assert.deepEqual(allowedCpus(tree(t, '', '', {})), [0, 1, 2, 6]);
  assert.ok(allowedCpus(fileTree(t, {})).length > 0, 'elsewhere than on Linux, all');
});
