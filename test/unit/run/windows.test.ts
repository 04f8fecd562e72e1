import assert from 'node:assert/strict';
import { it } from 'node:test';
import { mark, windowSince } from '../../../plugin/run/windows.ts';
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
