import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { UnchangedFigures } from '../../../plugin/run/checkpoints/metrics-pages.ts';
import type { PagesReading } from '../../../plugin/samplers/prometheus/page.ts';
import type { PageFigure } from '../../../plugin/samplers/prometheus/page-figures.ts';
import { afterTheBaseline, type Change, fromTheStart, testWarnings } from '../../helpers/conducted-run.ts';

/** Pages of the workers w0, w1, … */
type Pages = () => PagesReading['figures'][];

const showing =
  (pages: Pages, alternates = false): Change =>
  ({ context }) => {
    const readEach = async () =>
      pages().map((figures, index) => {
        const url = `http://w${index}/metrics`;
        return { url, reading: { figures, identity: '' }, absence: undefined, alternates };
      });
    context.metrics.worker = { readEach };
  };

let count = 0;
/** Returns another number in each call. */
const next = () => ++count;
const [W0, W1] = ['http://w0/metrics', 'http://w1/metrics'];

describe('metrics of a server', () => {
  const moving = (cpuSeconds = next()) => ({ rssBytes: 5, cpuSeconds });
  const sameProcess = () => ({ rssBytes: 5e6 + Math.floor(count / 9), cpuSeconds: next() });
  let reads = 0;
  const alikeOnce = (index: number) => {
    reads++;
    return { rssBytes: 5e6 + (reads > 6 ? index * 4096 : 0), cpuSeconds: reads / 10 };
  };

  testWarnings(fromTheStart, [
    ['a metrics page without any change', showing(() => [{ rssBytes: 5 }]), 'WORKER_URLS_WRONG', 'at 10', W0, 'at 0'],
    ['metrics with constant memory at a worker without new connections', showing(() => [moving(), { rssBytes: 5 }])],
    ['metrics with constant CPU time', showing(() => [moving(), moving(7)]), 'WORKER_URLS_WRONG', 'at 10', W1, 'at 0'],
    ['metrics of one page at two URLs', showing(() => [sameProcess(), sameProcess()]), 'WORKER_URLS_WRONG', W0, W1],
    ['a page with counters of events alone', showing(() => [{}])],
    ['two pages with counters of events alone', showing(() => [{}, {}])],
    ['metrics pages that are equal once, or in CPU time', showing(() => [alikeOnce(0), alikeOnce(1)])],
  ]);

  const page = () => ({ rssBytes: next() });
  testWarnings(afterTheBaseline, [
    [
      'metrics pages of processes that reply alternately',
      showing(() => [page()], true),
      'WORKER_URLS_WRONG',
      'at 10',
      W0,
    ],
  ]);
});

let reads = 0;
/** Returns a page whose memory figure changes in each call. */
const page = (figures: Partial<Record<PageFigure, number>>, url = 'http://w0/metrics') => ({
  url,
  reading: { identity: '', figures: { rssBytes: ++reads, ...figures } },
  absence: undefined,
  alternates: false,
});

const urlsOf = (found: ReturnType<UnchangedFigures['check']>) => found?.targets.map(({ url }) => url);

const WATCHED = [
  { figure: 'cpuSeconds', what: 'CPU time', least: 100 },
  { figure: 'heapUsedBytes', what: 'V8 heap', least: 400 },
] as const;

for (const { figure, what, least } of WATCHED) {
  test(`metrics without change in ${what} for ${least} opened or closed connections are stale`, () => {
    const still = new UnchangedFigures();
    const at = (value: number, connections: number) => still.check([page({ [figure]: value })], connections);
    assert.equal(at(7, 0), undefined);
    assert.equal(at(7, least - 1), undefined, 'a small server can have used less than a step');
    const found = at(7, least);
    assert.deepEqual([found?.what, found?.connections, urlsOf(found)], [what, 0, ['http://w0/metrics']]);
    assert.equal(at(8, least + 50), undefined);
    assert.equal(at(8, least + 50), undefined);
    assert.equal(at(8, 50)?.connections, least + 50);
  });
}

test('each of several metrics pages is checked against its share of the connections', () => {
  const still = new UnchangedFigures();
  const pages = (last: number) => [page({ cpuSeconds: 7 }), page({ cpuSeconds: last }, 'http://w1/metrics')];
  still.check(pages(1), 0);
  assert.equal(still.check(pages(2), 199), undefined);
  assert.deepEqual(urlsOf(still.check(pages(3), 200)), ['http://w0/metrics']);
});
