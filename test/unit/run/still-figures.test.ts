import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StillFigures } from '../../../plugin/run/checkpoints/still-figures.ts';
import type { PrometheusFigure } from '../../../plugin/samplers/prometheus/figures.ts';

let reads = 0;
/** With memory that moves each time. */
const page = (figures: Partial<Record<PrometheusFigure, number>>, url = 'http://w0/metrics') => ({
  url,
  reading: { identity: '', figures: { rssBytes: ++reads, ...figures } },
  failure: undefined,
  alternates: false,
});

const urlsOf = (found: ReturnType<StillFigures['look']>) => found?.targets.map(({ url }) => url);

const WATCHED = [
  { figure: 'cpuSeconds', what: 'CPU time', least: 100 },
  { figure: 'heapUsedBytes', what: 'V8 heap', least: 400 },
] as const;

for (const { figure, what, least } of WATCHED) {
  test(`the ${what} that stands still while ${least} connections come, or go, has stopped`, () => {
    const still = new StillFigures();
    const at = (value: number, connections: number) => still.look([page({ [figure]: value })], connections);
    assert.equal(at(7, 0), undefined);
    assert.equal(at(7, least - 1), undefined, 'a small server can have used less than a step');
    const found = at(7, least);
    assert.deepEqual([found?.what, found?.connections, urlsOf(found)], [what, 0, ['http://w0/metrics']]);
    assert.equal(at(8, least + 50), undefined);
    assert.equal(at(8, least + 50), undefined);
    assert.equal(at(8, 50)?.connections, least + 50);
  });
}

test('of several pages, each has its share of the connections', () => {
  const still = new StillFigures();
  const pages = (last: number) => [page({ cpuSeconds: 7 }), page({ cpuSeconds: last }, 'http://w1/metrics')];
  still.look(pages(1), 0);
  assert.equal(still.look(pages(2), 199), undefined);
  assert.deepEqual(urlsOf(still.look(pages(3), 200)), ['http://w0/metrics']);
});

test('without such a figure there is nothing to say', () => {
  const still = new StillFigures();
  still.look([page({})], 0);
  assert.equal(still.look([page({})], 1000), undefined);
});
