/** What people script against: none of it ever changes or goes. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LAYERS, layersFor } from '../../../plugin/samplers/layers/index.ts';
import { describeLayers } from '../../../plugin/samplers/layers/layer.ts';
import { familyOf } from '../../../report/figures/layers.ts';

const figures = LAYERS.flatMap((layer) => layer.figures.map((figure) => ({ layer, ...figure })));
const described = describeLayers(LAYERS);

/** By its key in the result document: whose it is, whether it is in the sum, and the metric that thresholds are set on. */
const FIGURES: Record<string, [belongsTo: string, inSum?: 'sum' | '', metric?: string]> = {
  workerPss: ['deployment', 'sum', 'worker_pss'],
  workerRss: ['deployment', '', 'worker'],
  workerKept: ['deployment'],
  workerChildrenPss: ['deployment'],
  workerHeapUsed: ['deployment', '', 'worker_heap'],
  workerExternal: ['deployment'],
  workerWorkingSet: ['deployment', '', 'worker_container'],
  workerHostUsed: ['deployment'],
  workerHostTcp: ['deployment'],
  nginxPss: ['deployment', 'sum', 'nginx'],
  nginxRss: ['deployment'],
  nginxHostUsed: ['deployment'],
  nginxHostTcp: ['deployment'],
  haproxyPss: ['deployment', 'sum'],
  haproxyRss: ['deployment'],
  haproxyPools: ['deployment'],
  haproxyHostUsed: ['deployment'],
  haproxyHostTcp: ['deployment'],
  redisPss: ['deployment', 'sum'],
  redisRss: ['deployment'],
  redisHostUsed: ['deployment'],
  redisHostTcp: ['deployment'],
  redisUsedMemory: ['deployment', '', 'redis'],
  redisClientBuffers: ['deployment'],
  pm2Pss: ['deployment', 'sum'],
  pm2Rss: ['deployment'],
  kernelSlab: ['machine', 'sum'],
  kernelTcp: ['machine', 'sum', 'kernel_tcp'],
  kernelPageTables: ['machine', 'sum'],
  fleetPss: ['generator', 'sum'],
  fleetRss: ['generator'],
  artilleryPss: ['generator', 'sum'],
  artilleryRss: ['generator'],
  systemUsed: ['machine', '', 'system'],
  systemHeld: ['machine'],
};

describe('the table of layers', () => {
  it('sums every byte once: PSS and not RSS, no share of another layer, and not the whole', () => {
    const known = figures.filter(({ id }) => id in FIGURES);
    const found = known.map(({ id, layer, inSum, metric }) => [id, layer.belongsTo, inSum ?? false, metric]);
    const expected = Object.entries(FIGURES).map(([id, [belongsTo, inSum, metric]]) => [
      ...[id, belongsTo, inSum === 'sum'],
      metric && `memory.${metric}.bytes_per_connection`,
    ]);
    assert.deepEqual(found, expected);
    for (const { id, figures: all, isProcesses } of LAYERS) {
      const summed = all.filter(({ inSum }) => inSum).map((figure) => figure.id);
      if (isProcesses) assert.deepEqual(summed, [`${id}Pss`]);
    }
  });

  it('has the keys of CPU', () => {
    const keys = described.flatMap(({ id, unit }) => (unit === 'cpuSeconds' ? [id] : []));
    for (const key of ['worker', 'nginx', 'haproxy', 'redis', 'pm2', 'fleet', 'artillery', 'system'])
      assert.ok(keys.includes(key), key);
  });

  it('leaves out what only pages of metrics tell, where there are none', () => {
    const idsOf = (named: Parameters<typeof layersFor>[0]) =>
      layersFor(named).flatMap(({ figures }) => figures.map(({ id }) => id));
    assert.deepEqual(
      idsOf({}).filter((id) => /haproxy|Host/.test(id)),
      [],
    );
    assert.ok(idsOf({}).includes('nginxPss'));
    const more = (named: Parameters<typeof layersFor>[0]) => idsOf(named).filter((id) => !idsOf({}).includes(id));
    assert.deepEqual(more({ haproxy: {} }), ['haproxyPss', 'haproxyRss']);
    assert.deepEqual(more({ nginx: { prometheus: [] } }), ['nginxHostUsed', 'nginxHostTcp']);
  });

  it('has no id twice, and figures that show by their id which layer they are of', () => {
    assert.equal(new Set(described.map(({ id }) => id)).size, described.length);
    for (const { id, layer } of figures) assert.equal(familyOf(id), familyOf(layer.id), id);
  });
});
