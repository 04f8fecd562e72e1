import assert from 'node:assert/strict';
import { it } from 'node:test';
import { countAdapterErrors, createWorkerMetrics, WORKER_METRICS } from '../../../server/control/metrics.ts';
import { EventLoopWindow } from '../../../server/control/worker-stats.ts';

it('the server serves every documented metric series', async (t) => {
  const eventLoop = new EventLoopWindow();
  t.after(() => eventLoop.close());
  const { registry } = createWorkerMetrics({ connections: () => 0, rooms: () => 0 }, 'w0', eventLoop);
  countAdapterErrors(registry, () => 3);
  const served = await registry.getMetricsAsJSON();
  assert.deepEqual(
    served.map(({ name, type, help }) => ({ name, kind: String(type), help })),
    Object.values(WORKER_METRICS).map(({ name, kind, help }) => ({ name, kind, help })),
  );
});

it('the metric names of the server follow the conventions of Prometheus', () => {
  for (const { name, kind, unit, labels } of Object.values(WORKER_METRICS)) {
    assert.match(name, /^capacity_[a-z\d_]+$/);
    assert.equal(name.endsWith('_total'), kind === 'counter', name);
    if (unit === 'seconds' || unit === 'bytes') assert.ok(name.endsWith(`_${unit}`), name);
    // These labels are reserved for summaries and histograms.
    for (const label of labels) assert.ok(!['quantile', 'le'].includes(label), name);
  }
});
