import assert from 'node:assert/strict';
import { it } from 'node:test';
import { countAdapterErrors, createMetrics, SERIES } from '../../../server/metrics.ts';
import { EventLoopWindow } from '../../../server/worker-stats.ts';

it('every series of the table is served, as the table has it', async (t) => {
  const eventLoop = new EventLoopWindow();
  t.after(() => eventLoop.close());
  const { registry } = createMetrics({ connections: () => 0, rooms: () => 0 }, 'w0', eventLoop);
  countAdapterErrors(registry, () => 3);
  const served = await registry.getMetricsAsJSON();
  assert.deepEqual(
    served.map(({ name, type, help }) => ({ name, kind: String(type), help })),
    Object.values(SERIES).map(({ name, kind, help }) => ({ name, kind, help })),
  );
});
