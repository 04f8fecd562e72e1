/** Creates a control group with a CPU quota, in this machine's version of cgroups. */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from './poll.ts';

const V1 = '/sys/fs/cgroup/cpu';
const V2 = '/sys/fs/cgroup';

/** @returns why no control group can be created on this machine; false if it can */
export function whyNoCpuGroup(): string | false {
  try {
    const name = `capacity-try-${process.pid}`;
    make(name).allow(1);
    rmdirSync(folder(name));
    return false;
  } catch {
    return 'needs Linux, root, and the cpu controller of control groups';
  }
}

/** Creates a control group. It is removed after the test, together with its processes. */
export function cpuGroup(t: { after(cleanUp: () => Promise<void>): void }, cores: number) {
  const name = `capacity-test-${process.pid}-${Date.now()}`;
  const group = make(name);
  group.allow(cores);
  t.after(async () => {
    await eventually('no process in the group', () => {
      const pids = readFileSync(join(folder(name), 'cgroup.procs'), 'utf8')
        .split('\n')
        .filter(Boolean);
      for (const pid of pids) kill(Number(pid));
      return pids.length === 0;
    });
    rmdirSync(folder(name));
  });
  return group;
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has already ended.
  }
}

function make(name: string) {
  mkdirSync(folder(name));
  return {
    /** Shell command that moves its process into the group. */
    enter: `echo $$ > ${join(folder(name), 'cgroup.procs')}`,
    /** @param cores new quota in cores */
    allow: (cores: number) => {
      const quotaUs = Math.round(cores * 100_000);
      if (isV1()) writeFileSync(join(folder(name), 'cpu.cfs_quota_us'), String(quotaUs));
      else writeFileSync(join(folder(name), 'cpu.max'), `${quotaUs} 100000`);
    },
  };
}

function folder(name: string): string {
  return join(isV1() ? V1 : V2, name);
}

function isV1(): boolean {
  return existsSync(join(V1, 'cgroup.procs'));
}
