import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CpuCounters } from '../../../plugin/run/checkpoints/cpu-counters.ts';

const page = (cpuSeconds: number | undefined, url = 'http://w0/metrics') => ({
  url,
  reading: { identity: '', figures: { rssBytes: 1, ...(cpuSeconds !== undefined && { cpuSeconds }) } },
  failure: undefined,
  alternates: false,
});

test('a counter that stands still while a hundred connections come, or go, has stopped', () => {
  const counters = new CpuCounters();
  assert.equal(counters.look([page(7)], 0), undefined);
  assert.equal(counters.look([page(7)], 99), undefined, 'a small server can have used less than a tick');
  assert.deepEqual(counters.look([page(7)], 100), { targets: [page(7)], connections: 0 });
  assert.equal(counters.look([page(8)], 150), undefined);
  assert.equal(counters.look([page(8)], 150), undefined);
  assert.equal(counters.look([page(8)], 0)?.connections, 150);
});

test('of several pages, each has its share of the connections', () => {
  const counters = new CpuCounters();
  const pages = (last: number) => [page(7), page(last, 'http://w1/metrics')];
  counters.look(pages(1), 0);
  assert.equal(counters.look(pages(2), 199), undefined);
  assert.deepEqual(counters.look(pages(3), 200)?.targets, [page(7)]);
});

test('without a counter there is nothing to say', () => {
  const counters = new CpuCounters();
  counters.look([page(undefined)], 0);
  assert.equal(counters.look([page(undefined)], 1000), undefined);
});
