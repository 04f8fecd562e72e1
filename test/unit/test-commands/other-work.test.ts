/** Tests the share of the CPUs that other programs used during a test file. The share decides on a second attempt. */
import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { MachineTime } from '../../../plugin/samplers/machine/machine-time.ts';
import { type Fake, FakeMachine } from '../../helpers/fake-machine.ts';
import { OtherWork } from '../../helpers/other-work.ts';

const TESTS = 10;
/** A second in ticks of 10 ms, on two CPUs. */
const SECOND = { ticks: 100, ms: 1000 };

type Use = Partial<Record<'tests' | 'daemon' | 'others' | 'kernel' | 'steal', number>>;

/** @param uses shares of all CPUs, one for each second */
async function shares(t: TestContext, ...uses: Use[]): Promise<(from: number, to: number) => number> {
  const machine = new FakeMachine(t);
  let second = 0;
  const time = new MachineTime(machine.root);
  // Replaces the clock by that of the simulated machine.
  const work = new OtherWork(TESTS, {
    read: async (roots) => ({ ...(await time.read(roots)), atMs: second * SECOND.ms }),
  });
  const total: Required<Use> = { tests: 0, daemon: 0, others: 0, kernel: 0, steal: 0 };
  for (const use of [{}, ...uses] as Use[]) {
    for (const key of Object.keys(total) as (keyof Use)[]) total[key] += Math.round((use[key] ?? 0) * 2 * SECOND.ticks);
    const { tests, daemon, others, kernel, steal } = total;
    const processes: Record<number, Fake> = {
      2: { name: 'kthreadd', parent: 0, own: 0 },
      3: { name: 'kworker/0:1', parent: 2, own: kernel },
      [TESTS]: { name: 'node', own: tests },
      // The parent of the process ended after the first second.
      11: { name: 'pm2', parent: second === 0 ? TESTS : 1, own: daemon },
      30: { name: 'chrome', own: others },
    };
    machine.set(processes, { user: tests + daemon + others + kernel, steal });
    await work.read();
    second++;
  }
  return (from, to) => Math.round(100 * work.share(from * SECOND.ms, to * SECOND.ms));
}

const BUSY: Use[] = [{ tests: 0.4, daemon: 0.3, kernel: 0.2 }, { daemon: 0.9 }];
const IN_TURNS: Use[] = [{ others: 0.9 }, { tests: 0.9 }, { others: 0.5, tests: 0.5 }];

for (const [what, uses, from, to, percent] of [
  ['is the CPU of other programs and of the hypervisor', [{ tests: 0.5, others: 0.3, steal: 0.1 }], 0, 1, 40],
  ['excludes the tests, the daemons that they started, and the kernel', BUSY, 0, 2, 0],
  ['is limited to the time of the file', IN_TURNS, 0, 1, 90],
  ['is zero while other programs rest', IN_TURNS, 1, 2, 0],
  ['is the mean of several seconds', IN_TURNS, 1, 3, 25],
  ['is measured as a share even in a part of a second', IN_TURNS, 2.2, 2.8, 50],
] as [string, Use[], number, number, number][]) {
  it(`the CPU time of other programs ${what}`, async (t) => {
    assert.equal((await shares(t, ...uses))(from, to), percent);
  });
}

it('the measured CPU time of other programs is zero if the kernel does not report it', async () => {
  const work = new OtherWork(TESTS, new MachineTime('/nowhere'));
  await work.read();
  assert.equal(work.share(0, 1), 0);
});
