import assert from 'node:assert/strict';
import { it } from 'node:test';
import { mark, Windows, windowSince } from '../../../plugin/run/windows/cpu.ts';
import { assertEach } from '../../helpers/columns.ts';
import { FakeRun } from '../../helpers/fake-run.ts';
import { VirtualTime } from '../../helpers/virtual-time.ts';

it('a window has the CPU of each layer since its mark; one that was not read at both ends has none', async (t) => {
  const time = new VirtualTime(t);
  const { context } = new FakeRun();
  context.sampler.cpu = async () => {
    const answered = time.pass(300);
    await answered;
    return { worker: 100, nginx: 3 };
  };
  const begin = await mark(context);
  await time.pass(2500);
  context.sampler.cpu = async () => ({ worker: 150, redis: 20 });
  assert.deepEqual(await windowSince(context, begin, 7), {
    ...{ seconds: 2.5, secondsAtMost: 2.8 },
    ...{ units: 7, cpuUs: { worker: 50 } },
  });
});

it('windows have no gap between them, even if the next one ends while the last is still being read', async () => {
  const { context } = new FakeRun();
  let readings = 0;
  context.sampler.cpu = async () => {
    const worker = 10 ** readings++;
    // Each reading takes less time than the one before.
    for (let wait = 5; wait > readings; wait--) await undefined;
    return { worker };
  };
  let units = 0;
  const windows = new Windows(context, () => units++ * 5);
  void windows.next();
  void windows.next();
  assertEach(await windows.end(), ({ units, cpuUs }) => [units, cpuUs.worker], [
    [5, 9],
    [5, 90],
    [5, 900],
  ]);
});
