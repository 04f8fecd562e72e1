/** A run of days, with a clock that runs fast: what the run keeps stays small. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { overTimeFigures } from '../../../plugin/result/memory/over-time.ts';
import type { Checkpoints } from '../../../plugin/run/checkpoints/checkpoints.ts';
import { measureChurn, newOverTime } from '../../../plugin/run/memory/over-time.ts';
import { Sampler } from '../../../plugin/samplers/index.ts';
import { FakeRun } from '../../helpers/fake-run.ts';
import { VirtualTime } from '../../helpers/virtual-time.ts';

it('readings and record, and the leak is still found', async (t) => {
  const time = new VirtualTime(t, 1000);
  const run = new FakeRun();
  let lines = 0;
  run.context.record.append = () => void lines++;
  run.arrive(500);
  run.context.sampler.reading = async () => {
    // Ten have come and ten have left for each second.
    run.left = Math.round(time.nowMs / 100);
    return { workerHeapUsed: 20e6 + run.left * 100 };
  };
  const everySeconds = 20;
  const seconds = 12 * 3600;
  const measured = newOverTime({ collect: false, every: everySeconds }, true);
  const checkpoints = { checkDeployment: async () => {} } as unknown as Checkpoints;
  await time.until(measureChurn(run.context, checkpoints, measured, { seconds, everySeconds }, () => {}));
  const found = overTimeFigures({ overTime: measured, uncollected: [] });
  assert.equal(measured.readings.added, seconds / everySeconds - 1);
  assert.ok(lines < 1300, `${lines} lines of ${measured.readings.added} readings`);
  const { workerHeapUsed: drift } = found?.drift ?? {};
  assert.ok(Math.abs((drift?.bytesPerConnection ?? 0) - 100) < 1 && drift?.leaks, JSON.stringify(drift));
  assert.ok(run.measurements.generator.length < 5, 'the worst of each loop');
});

it('the time series', async (t) => {
  const time = new VirtualTime(t, 1000);
  const sampler = new Sampler({ pids: () => ({}), connections: () => Math.round(time.nowMs), layers: [] });
  sampler.start();
  await time.pass(12 * 3600 * 1000);
  await time.until(sampler.close());
  const { samples } = sampler;
  assert.ok(samples.length < 3600, `${samples.length} rows`);
  const { taken, missed } = sampler.health();
  assert.equal(taken + missed, 12 * 3600 + 1);
  assert.ok(missed < 10, `${missed} missed`);
  assert.equal(samples.at(-1)?.t, 12 * 3600);
});
