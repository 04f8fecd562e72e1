import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { diagnose } from '../../../plugin/doctor/diagnosis.ts';
import { findLimits } from '../../../plugin/doctor/limits.ts';
import { printDiagnosis } from '../../../plugin/doctor/print.ts';
import { findWarnings } from '../../../plugin/doctor/warnings.ts';
import { remote, situation } from '../../helpers/situation.ts';

const quota = { cores: 0.5, cpuQuota: 0.5 };

describe('in a container', () => {
  it('the memory limit counts, and is what is to be raised', () => {
    const machine = { memoryAvailableBytes: 2 ** 30, memoryLimitedBy: 'container' as const };
    const limits = findLimits(situation({ machine }));
    assert.equal(
      limits.some(({ name }) => name === 'machineMemory'),
      false,
    );
    const [limit] = limits.filter(({ name }) => name === 'containerMemory');
    assert.ok(limit?.max && limit.max > 1000 && limit.max < 32_000, String(limit?.max));
    assert.match(limit.raise ?? '', /^raise the memory limit of the container by [\d,]+ MB$/);
  });

  it('the CPU quota counts as cores, and is what is to be raised', () => {
    const slow = situation({ machine: quota });
    const pings = findLimits(slow).find(({ name }) => name === 'pings');
    const all = findLimits(situation()).find(({ name }) => name === 'pings');
    assert.ok(Math.abs((pings?.max ?? 0) - (all?.max ?? 0) / 4) < 2, `${pings?.max}, with two cores ${all?.max}`);
    assert.match(pings?.raise ?? '', /^CAPACITY_PING_INTERVAL_MS=\d+, or a CPU quota of 1 cores$/);
    const ramp = findWarnings(remote({ machine: quota, load: { ratePerSec: 5000 } })).find(
      ({ name }) => name === 'rampCpu',
    );
    assert.match(ramp?.message ?? '', /more than 0\.50 cores \(CPU quota of the container\) usually handle/);
    assert.match(printDiagnosis(diagnose(slow), slow, 200), /light client, 0\.50 cores \(CPU quota of the container\)/);
  });

  it('a stack is planned with at least one worker', () => {
    assert.ok(diagnose(situation({ machine: quota, load: { connections: 100 } })).fits);
  });

  it('processes and threads count: Artillery, the fleet, and the stack that the run starts', () => {
    const tasks = { max: 200, used: 20 };
    const limitOf = (from: ReturnType<typeof situation>) =>
      findLimits(from).find(({ name }) => name === 'containerTasks');
    assert.equal(limitOf(situation()), undefined, 'without a limit');
    // With 20,000 files each, there are five fleet processes and more and more workers until then, with 11 tasks each.
    const here = limitOf(situation({ machine: { tasks }, load: { connections: 100 } }));
    assert.equal(here?.max, 19_800 * 5);
    const few = limitOf(situation({ machine: { tasks: { max: 60, used: 20 } }, load: { connections: 100 } }));
    assert.equal(few?.max, 0);
    assert.match(few?.raise ?? '', /^raise the container's limit of processes \(pids\.max\) to \d+$/);
  });
});
