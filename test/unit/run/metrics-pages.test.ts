/** What a standstill shows of a server's pages of metrics: those that stand still, are twice, or do not answer. */
import { describe, it, type TestContext } from 'node:test';
import type { PrometheusReading } from '../../../plugin/samplers/prometheus/page.ts';
import { assertWarned, ConductedRun } from '../../helpers/conducted-run.ts';

describe('metrics of a server', () => {
  /** @param read figures of each target, or undefined where it does not answer */
  function withMetrics(
    t: TestContext,
    read: () => (PrometheusReading['figures'] | undefined)[],
    { alternates = () => false as boolean, layer = 'worker' } = {},
  ): ConductedRun {
    const conducted = new ConductedRun(t);
    conducted.run.context.metrics[layer] = {
      readEach: async () =>
        read().map((figures, index) => {
          const url = `http://w${index}/metrics`;
          if (figures === undefined) {
            return { url, reading: undefined, failure: `no metrics from ${url}: HTTP 503`, alternates: false };
          }
          return { url, reading: { figures, identity: '' }, failure: undefined, alternates: alternates() };
        }),
    };
    return conducted;
  }
  let count = 0;
  /** Another number each time. */
  const next = () => ++count;

  it('that stand still while connections come are stale', async (t) => {
    const conducted = withMetrics(t, () => [{ rssBytes: 5 }]);
    await conducted.whole();
    assertWarned(conducted, 'STATISTICS_STALE', 'at 10', 'http://w0/metrics', 'at 0');
  });

  it('of one of several workers can stand still: it can be without new connections', async (t) => {
    const conducted = withMetrics(t, () => [{ rssBytes: 5, cpuSeconds: next() }, { rssBytes: 5 }]);
    await conducted.whole();
    assertWarned(conducted);
  });

  it('of one of several workers are stale if its CPU time stands still, too', async (t) => {
    const conducted = withMetrics(t, () => [
      { rssBytes: 5, cpuSeconds: next() },
      { rssBytes: 5, cpuSeconds: 7 },
    ]);
    await conducted.whole();
    assertWarned(conducted, 'STATISTICS_STALE', 'at 10', 'http://w1/metrics', 'at 0');
  });

  it('of one process by two names are one page too many', async (t) => {
    const page = () => ({ rssBytes: 5e6 + Math.floor(count / 9), cpuSeconds: next() });
    const conducted = withMetrics(t, () => [page(), page()]);
    await conducted.whole();
    assertWarned(conducted, 'WORKER_URLS_WRONG', 'http://w0/metrics', 'http://w1/metrics');
  });

  it('of two processes that are alike once, or have used as much CPU time, are not', async (t) => {
    let reads = 0;
    const page = (index: number) => {
      reads++;
      return { rssBytes: 5e6 + (reads > 6 ? index * 4096 : 0), cpuSeconds: reads / 10 };
    };
    const conducted = withMetrics(t, () => [page(0), page(1)]);
    await conducted.whole();
    assertWarned(conducted);
  });

  it('of processes that answer in turn are of nobody', async (t) => {
    let connected = false;
    const conducted = withMetrics(t, () => [{ rssBytes: next() }], { alternates: () => connected });
    await conducted.prepare();
    connected = true;
    await conducted.arriveAll();
    await conducted.finale();
    assertWarned(conducted, 'WORKER_URLS_WRONG', 'at 10', 'http://w0/metrics');
  });

  it('that do not answer are named once', async (t) => {
    let isGone = false;
    const conducted = withMetrics(t, () => [{ rssBytes: next() }, isGone ? undefined : { rssBytes: next() }]);
    await conducted.prepare();
    isGone = true;
    await conducted.arriveAll();
    await conducted.finale();
    assertWarned(conducted, 'READINGS_MISSING', 'at 10', 'http://w1/metrics', 503);
  });
});
