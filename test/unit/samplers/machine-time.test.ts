import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MachineWatch, machineSharesBetween } from '../../../plugin/samplers/machine/cpu-shares.ts';
import { MachineTime, type MachineTotals, programName } from '../../../plugin/samplers/machine/machine-time.ts';
import { CLOCK_TICK_US } from '../../../protocol/base/machine/kernel.ts';
import { cpuContention } from '../../../report/figures/contention.ts';
import { assertEach } from '../../helpers/columns.ts';
import { type Fake, FakeMachine, GENERATOR, SERVER } from '../../helpers/fake-machine.ts';
import { fileTree } from '../../helpers/file-tree.ts';
import { perfectResult } from '../../helpers/results.ts';
import { assertNames } from '../../helpers/verdict.ts';
import { VirtualTime } from '../../helpers/virtual-time.ts';

const runProcesses = (own: number, more: Partial<Fake> = {}): Record<number, Fake> => ({
  [GENERATOR]: { name: 'node', own, ...more },
});

/** Returns the ticks of each category since the first reading. */
async function ticks(reading: Promise<MachineTotals>) {
  const { processes } = await reading;
  assert.ok(processes);
  const { oursUs, othersUs, kernelUs, programsUs } = processes;
  const programs = Object.fromEntries([...programsUs].map(([name, us]) => [name, us / CLOCK_TICK_US]));
  return { ours: oursUs / CLOCK_TICK_US, others: othersUs / CLOCK_TICK_US, kernel: kernelUs / CLOCK_TICK_US, programs };
}

describe('the CPU time of a machine', () => {
  it('divides the CPU time of a machine into the run, other programs by name, the kernel and the hypervisor', async (t) => {
    const machine = new FakeMachine(t);
    const at = (step: number) => ({
      ...runProcesses(100 + 30 * step),
      11: { name: 'fleet', parent: GENERATOR, own: 100 + 10 * step },
      [SERVER]: { name: 'node', own: 100 + 20 * step },
      2: { name: 'kthreadd', parent: 0, own: 100 },
      3: { name: 'kworker/0:1', parent: 2, own: 100 + 3 * step },
      4: { name: 'ksoftirqd/0', parent: 2, own: 100 + 9 * step },
      30: { name: 'chrome', own: 100 + 40 * step },
      31: { name: 'chrome', own: 100 + 5 * step },
      32: { name: 'tsc', own: 100 + 2 * step },
    });
    const pressure = (us: number) => {
      for (const [what, factor] of Object.entries({ cpu: 3, memory: 2, io: 1 }))
        machine.write(`pressure/${what}`, `some avg10=0.00 avg60=0.00 avg300=0.00 total=${us * factor}\n`);
      return machine.read();
    };
    machine.set(at(0), { user: 1000 });
    const first = await pressure(0);
    machine.set(at(1), { user: 1110, steal: 25, softirq: 9 });
    const last = await pressure(10 * CLOCK_TICK_US);
    assert.deepEqual(await ticks(Promise.resolve(last)), {
      ...{ ours: 60, others: 47, kernel: 3 },
      programs: { chrome: 45, tsc: 2 },
    });
    const shares = machineSharesBetween({ ...first, atMs: 0 }, { ...last, atMs: CLOCK_TICK_US / 10 }) ?? assert.fail();
    const { busyCores, oursCores, othersCores, stealCores, kernelCores, programs } = shares;
    const cores = [shares.cores, busyCores, oursCores, othersCores, stealCores, kernelCores];
    assertEach(cores, (count) => count?.toFixed(2), ['2.00', '1.44', '0.60', '0.47', '0.25', '0.12']);
    assertEach(programs, ({ name, cores }) => `${name} ${cores.toFixed(2)}`, ['chrome 0.45', 'tsc 0.02']);
    assert.deepEqual(shares.pressure, { cpu: 0.3, memory: 0.2, io: 0.1 });
    assert.ok(shares.errorCores > 0.05);
  });

  it("the CPU time attributed to programs never exceeds the kernel's count", async (t) => {
    const machine = new FakeMachine(t);
    const at = (step: number) => ({
      ...runProcesses(10 * step),
      30: { name: 'chrome', own: 150 * step },
      31: { name: 'tsc', own: 83 * step },
    });
    const first = await machine.set(at(0), { user: 1000 }).read();
    const last = await machine.set(at(1), { user: 1188, steal: 8 }).read();
    const shares = machineSharesBetween({ ...first, atMs: 0 }, { ...last, atMs: CLOCK_TICK_US / 10 }) ?? assert.fail();
    const { busyCores, stealCores, oursCores, kernelCores, othersCores, programs } = shares;
    assert.equal(
      busyCores.toFixed(2),
      ((oursCores ?? 0) + (kernelCores ?? 0) + (othersCores ?? 0) + stealCores).toFixed(2),
    );
    assertEach(programs, ({ name, cores }) => `${name} ${cores.toFixed(2)}`, ['chrome 1.15', 'tsc 0.63']);
  });

  it('counts the CPU time of short-lived processes once', async (t) => {
    const machine = new FakeMachine(t);
    const shell = (reaped: number): Fake => ({ name: 'make', own: 0, reaped });
    const child: Fake = { name: 'cc1', parent: 30, startedAt: 9, own: 0 };
    await machine.set({ 30: shell(1000) }).read();
    const steps: [what: string, processes: Record<number, Fake>, programs: object][] = [
      ['a running compiler', { 30: shell(1000), 31: { ...child, own: 70 } }, { cc1: 70 }],
      ['a finished compiler, not reaped yet', { 30: shell(1000), 31: { ...child, own: 80, state: 'Z' } }, { cc1: 80 }],
      ['a compiler reaped by make', { 30: shell(1085) }, { cc1: 80, make: 5 }],
      ['a compiler that started and ended between readings', { 30: shell(1125) }, { cc1: 80, make: 45 }],
    ];
    for (const [what, processes, programs] of steps)
      assert.deepEqual(
        (await ticks(machine.set({ ...runProcesses(0), ...processes }).read())).programs,
        programs,
        what,
      );
  });

  it('counts a process once that outlived its parent and was reaped by another process', async (t) => {
    const machine = new FakeMachine(t);
    const at = (reaped: number): Record<number, Fake> => ({
      ...runProcesses(0),
      30: { name: 'init', own: 0, reaped },
      31: { name: 'make', own: 0, reaped: 0 },
    });
    await machine.set(at(0)).read();
    const shell: Fake = { name: 'nohup', parent: 31, startedAt: 9, own: 0 };
    const job: Fake = { name: 'job', parent: 32, startedAt: 9, own: 70 };
    await machine.set({ ...at(0), 32: shell, 33: job }).read();
    assert.deepEqual((await ticks(machine.set(at(75)).read())).programs, { job: 70, init: 5 });
    assert.deepEqual((await ticks(machine.set(at(85)).read())).programs, { job: 70, init: 15 });
  });

  it('counts the CPU time of children for the run if their parent ended, or if they ended between two readings', async (t) => {
    const machine = new FakeMachine(t);
    const child: Fake = { name: 'sh', parent: GENERATOR, own: 0 };
    await machine.set({ ...runProcesses(0), 11: child }).read();
    machine.set({ ...runProcesses(0, { reaped: 8 }), 11: { ...child, parent: 1, own: 4 } });
    assert.deepEqual(await ticks(machine.read()), { ours: 12, others: 0, kernel: 0, programs: {} });
  });

  it('the CPU time of the machine excludes CPUs that this process may not use', async (t) => {
    const machine = new FakeMachine(t, { 'proc/self/status': 'Cpus_allowed_list:\t1\n' });
    const at = (own: number) => ({ 30: { name: 'beside', own, cpu: 0 }, 31: { name: 'here', own, cpu: 1 } });
    const first = await machine.set(at(0), { user: 0 }).read();
    const last = await machine.set(at(50), { user: 100 }).read();
    assert.deepEqual((await ticks(Promise.resolve(last))).programs, { here: 50 });
    assert.deepEqual([last.cores, last.busyUs - first.busyUs], [1, 50 * CLOCK_TICK_US]);
  });

  it('attributes no CPU time if the processes of the run are unknown, and still reports steal', async (t) => {
    const machine = new FakeMachine(t);
    const first = await machine.set({}, { steal: 0 }).read(null);
    const last = await machine.set({}, { steal: 100 }).read(null);
    const shares = machineSharesBetween({ ...first, atMs: 0 }, { ...last, atMs: 2000 }) ?? assert.fail();
    const { oursCores, othersCores, kernelCores, stealCores, programs } = shares;
    assert.deepEqual([oursCores, othersCores, kernelCores, programs], [null, null, null, []]);
    assert.equal(stealCores, (100 * CLOCK_TICK_US) / 2e6);
    const others = { windows: [{ window: 'ramp' as const, ...shares }] };
    const taken = cpuContention({ ...perfectResult(), machine: { ...perfectResult().machine, others } as never });
    assertNames(taken?.text, ['hypervisor', (100 * stealCores) / 2, 'ramp']);
  });

  it('the CPU time of a machine is unknown if the kernel does not report it', async () => {
    await assert.rejects(new MachineTime('/nowhere').read([1]));
  });
});

it('reads the CPU time of a machine once a second, and every five seconds if a reading takes long', async (t) => {
  const time = new VirtualTime(t, 10);
  const looksAtMs: number[] = [];
  let lookTakesMs = 0;
  const read = async () => {
    looksAtMs.push(time.nowMs);
    time.jump(lookTakesMs);
    return {} as MachineTotals;
  };
  const watch = new MachineWatch(async () => [], { read });
  const CASES: [takesMs: number, everyMs: number][] = [
    [10, 1000],
    [200, 5000],
  ];
  for (const [takesMs, everyMs] of CASES) {
    lookTakesMs = takesMs;
    looksAtMs.length = 0;
    while (looksAtMs.length < 3) {
      await watch.tick();
      time.jump(10);
    }
    const [, second = 0, third = 0] = looksAtMs;
    assert.ok(Math.abs(third - second - everyMs) <= 20, `${looksAtMs}`);
  }
});

describe('the name of a program', () => {
  const cases: [comm: string, commandLine: string, name: string][] = [
    ['chrome', '/opt/chrome\0--password=secret', 'chrome'],
    ['MainThread', '/usr/bin/node\0/work/node_modules/.bin/tsc\0--token\0secret', 'node tsc'],
    ['node', 'node\0--test\0--test-concurrency=1\0test/e2e/run.test.ts\0--token', 'node run.test.ts'],
    ['node', 'node\0-e\0const token = "secret"', 'node'],
    ['python3.11', '/usr/bin/python3\0/srv/app.py', 'python3 app.py'],
    ['sh', '', 'sh'],
    ['npm exec biome ', '', 'npm exec biome'],
    ['evil\n::error::\u001b[31m', '', 'evil\n::error::\u001b[31m'],
  ];
  for (const [comm, commandLine, name] of cases) {
    it(`names a program: ${JSON.stringify(comm)}, ${JSON.stringify(commandLine)} becomes ${JSON.stringify(name)}`, (t) => {
      const root = fileTree(t, { 'proc/7/cmdline': commandLine });
      assert.equal(programName({ pid: 7, name: comm }, root), name);
    });
  }
});
