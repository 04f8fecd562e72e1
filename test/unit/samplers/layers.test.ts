/** Tests keys that users use in scripts. They never change or disappear. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LAYERS, layersFor } from '../../../plugin/samplers/layers/index.ts';
import { describeLayers } from '../../../plugin/samplers/layers/layer.ts';
import { layerFamily } from '../../../report/figures/layers.ts';

const figures = LAYERS.flatMap((layer) => layer.figures.map((figure) => ({ layer, ...figure })));
const described = describeLayers(LAYERS);

/**
 * Keys in the result document by layer, with the metrics for thresholds. A plus marks figures that are part of the sum.
 */
const FIGURES: [belongsTo: string, keys: string][] = [
  ['deployment', 'workerPss+ = worker_pss, workerRss = worker, workerKept, workerChildrenPss'],
  ['deployment', 'workerHeapUsed = worker_heap, workerExternal, workerWorkingSet = worker_container'],
  ['deployment', 'workerHostUsed, workerHostTcp'],
  ['deployment', 'nginxPss+ = nginx, nginxRss, nginxHostUsed, nginxHostTcp'],
  ['deployment', 'haproxyPss+, haproxyRss, haproxyPools, haproxyHostUsed, haproxyHostTcp'],
  ['deployment', 'redisPss+, redisRss, redisHostUsed, redisHostTcp, redisUsedMemory = redis, redisClientBuffers'],
  ['deployment', 'pm2Pss+, pm2Rss'],
  ['machine', 'kernelSlab+, kernelTcp+ = kernel_tcp, kernelPageTables+'],
  ['generator', 'fleetPss+, fleetRss, artilleryPss+, artilleryRss'],
  ['machine', 'systemUsed = system, systemHeld, systemPrograms, systemShared'],
  ['machine', 'systemUnmeasured, systemUnmeasuredShared, systemKernel'],
];

describe('the table of layers', () => {
  it('the sum over the table of layers contains every byte once', () => {
    const expected = FIGURES.flatMap(([owner, keys]) => keys.split(', ').map((key) => `${owner}: ${key}`));
    const found = figures.map(
      ({ id, layer, inSum, metric }) =>
        `${layer.belongsTo}: ${id}${inSum ? '+' : ''}${metric === undefined ? '' : ` = ${metric}`}`,
    );
    // New figures may be added, but existing ones must not change or disappear.
    assert.deepEqual(
      found.filter((one) => expected.includes(one)),
      expected,
    );
    for (const { id, figures: all, isProcesses } of LAYERS) {
      const summed = all.filter(({ inSum }) => inSum).map((figure) => figure.id);
      if (isProcesses) assert.deepEqual(summed, [`${id}Pss`]);
    }
  });

  it('the table of layers contains the CPU time of every layer', () => {
    const keys = described.flatMap(({ id, unit }) => (unit === 'cpuSeconds' ? [id] : []));
    for (const key of ['worker', 'nginx', 'haproxy', 'redis', 'pm2', 'fleet', 'artillery', 'system'])
      assert.ok(keys.includes(key), key);
  });

  it('leaves out the layers of metrics pages if the scenario has no such pages', () => {
    type Named = Parameters<typeof layersFor>[0];
    const idsOf = (named: Named) => layersFor(named).flatMap(({ figures }) => figures.map(({ id }) => id));
    const ids = idsOf({});
    assert.ok(ids.includes('nginxPss') && !ids.some((id) => /haproxy|Host/.test(id)));
    const more = (named: Named) => idsOf(named).filter((id) => !ids.includes(id));
    assert.deepEqual(more({ haproxy: {} }), ['haproxyPss', 'haproxyRss']);
    assert.deepEqual(more({ nginx: { prometheus: [] } }), ['nginxHostUsed', 'nginxHostTcp']);
  });

  it('each figure of a layer has a unique id that contains its layer', () => {
    assert.equal(new Set(described.map(({ id }) => id)).size, described.length);
    for (const { id, layer } of figures) assert.equal(layerFamily(id), layerFamily(layer.id), id);
  });
});
