import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { throttledBetween } from '../../../plugin/run/windows/resources.ts';
import { readCgroup } from '../../../protocol/machine/cgroup.ts';
import {
  allowedCpus,
  availableMemory,
  lowestLimit,
  lowestQuota,
  usableCores,
} from '../../../protocol/machine/usable.ts';
import { columns } from '../../helpers/columns.ts';
import { fileTree } from '../../helpers/file-tree.ts';

const MB = 2 ** 20;
const V2 = '30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n';

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
  it('of a container that sees its own group as the top', (t) => {
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

  it('has limits of every group above, of which the lowest counts', (t) => {
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
    assert.equal(lowestQuota(found), 0.5);
    assert.equal(usableCores(root), 0.5);
    assert.equal(lowestLimit(found.memory, 8192 * MB)?.max, 1024 * MB);
    assert.equal(lowestLimit(found.memory, 512 * MB), undefined, 'the machine has less');
    assert.deepEqual(availableMemory(found, 8192 * MB), { bytes: 24 * MB, limitedBy: 'container' });
    assert.deepEqual(availableMemory(found, 20 * MB), { bytes: 20 * MB, limitedBy: 'machine' });
  });

  it('whose statistics may not be read keeps its limits, and its use is unknown, not 0', (t) => {
    const limits = { 'cpu.max': '50000 100000\n', 'memory.max': `${64 * MB}\n` };
    const found = readCgroup(tree(t, V2, '0::/\n', { ...limits, 'memory.current': '4096\n' }));
    const unknown = { cpu: [{ cores: 0.5, group: '/' }], memory: [{ max: 64 * MB, group: '/' }], tasks: [] };
    assert.deepEqual(found, unknown);
    assert.equal(throttledBetween(found.cpu, found.cpu), undefined);
    assert.equal(availableMemory(found, MB).limitedBy, 'machine');
    assert.deepEqual(readCgroup(tree(t, V2, '0::/\n', limits)), unknown, 'nor without its use');
  });

  it('without limits: "max"', (t) => {
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

describe('no control group', () => {
  it('is no limit: without /proc, and where the file system does not show them', (t) => {
    const nothing = { cpu: [], memory: [], tasks: [] };
    assert.deepEqual(readCgroup(fileTree(t, {})), nothing);
    assert.deepEqual(readCgroup(tree(t, '', '0::/x\n', {})), nothing);
    assert.deepEqual(readCgroup(tree(t, V2, '0::/gone\n', {})), nothing);
    const version1 = '32 31 0:30 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n';
    const files = { 'pids/pids.max': '9\n', 'pids/pids.current': '1\n' };
    assert.deepEqual(readCgroup(tree(t, version1, '8:pids:/\n0::/\n', files)), nothing, 'of version 1');
  });
});

it('CPUs that a cpuset or an affinity leaves count, and no others', (t) => {
  assert.deepEqual(allowedCpus(tree(t, '', '', {})), [0, 1, 2, 6]);
  assert.ok(allowedCpus(fileTree(t, {})).length > 0, 'elsewhere than on Linux, all');
});
