/** A page of metrics that takes its time costs its own figures, is named as the cause, and costs nobody else's. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Sampler } from '../../../plugin/samplers/index.ts';
import { VirtualTime } from '../../helpers/virtual-time.ts';

test('rows go on without a page that is slow, which is asked for once and counts as failing', async (t) => {
  const time = new VirtualTime(t);
  let asked = 0;
  let answer = () => {};
  const page = {
    failures: 0,
    read: () => {
      asked++;
      return new Promise<{ figures: { rssBytes: number }; identity: string }>((resolve) => {
        answer = () => resolve({ figures: { rssBytes: 7 }, identity: 'a' });
      });
    },
  };
  const sampler = new Sampler({
    prometheus: { worker: page },
    pids: () => ({}),
    connections: () => 0,
  });
  t.after(async () => {
    answer();
    await sampler.close();
  });
  sampler.start();
  await time.pass(5500);
  const { missed, failures } = sampler.health();
  assert.ok(sampler.samples.length >= 3, `${sampler.samples.length} rows`);
  assert.equal(asked, 1);
  assert.equal(missed, 0);
  assert.ok((failures.prometheus ?? 0) >= 3, JSON.stringify(failures));
  assert.ok(sampler.samples.every(({ worker }) => worker?.rssBytes === undefined));
  answer();
  await time.pass(2000);
  assert.equal(sampler.samples.at(-1)?.worker?.rssBytes ?? sampler.samples.at(-2)?.worker?.rssBytes, 7);
});
