import assert from 'node:assert/strict';
import { it } from 'node:test';
import { addWindow, mark, windowSince } from '../../../plugin/run/windows.ts';
import { FakeRun } from '../../helpers/fake-run.ts';
import { VirtualTime } from '../../helpers/virtual-time.ts';

it('a window has the CPU of each layer since its mark; a layer that came later counts from zero', async (t) => {
  const time = new VirtualTime(t);
  const { context } = new FakeRun();
  context.sampler.cpu = async () => ({ worker: 100 });
  const begin = await mark(context);
  await time.pass(2500);
  context.sampler.cpu = async () => ({ worker: 150, redis: 20 });
  assert.deepEqual(await windowSince(context, begin, 7), { seconds: 2.5, units: 7, cpuUs: { worker: 50, redis: 20 } });
});

it('windows add up', () => {
  const total = { seconds: 1, units: 2, cpuUs: { worker: 3 } };
  addWindow(total, { seconds: 10, units: 20, cpuUs: { worker: 30, redis: 40 } });
  assert.deepEqual(total, { seconds: 11, units: 22, cpuUs: { worker: 33, redis: 40 } });
});
