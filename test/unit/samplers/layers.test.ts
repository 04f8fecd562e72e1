/** What people script against: none of it ever changes or goes. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LAYERS, layersFor } from '../../../plugin/samplers/layers/index.ts';
import { describeLayers } from '../../../plugin/samplers/layers/layer.ts';
import { familyOf } from '../../../report/figures/layers.ts';

const figures = LAYERS.flatMap((layer) => layer.figures.map((figure) => ({ layer, ...figure })));
const described = describeLayers(LAYERS);

/** By layer, its keys in the result document, with the metric that thresholds are set on. A plus: it is in the sum. */
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
  it('sums every byte once: PSS and not RSS, no share of another layer, and not the whole', () => {
    const expected = FIGURES.flatMap(([owner, keys]) => keys.split(', ').map((key) => `${owner}: ${key}`));
    const found = figures.map(
      ({ id, layer, inSum, metric }) =>
        `${layer.belongsTo}: ${id}${inSum ? '+' : ''}${metric === undefined ? '' : ` = ${metric}`}`,
    );
    // A figure may come; none of these may change or go.
    assert.deepEqual(
      found.filter((one) => expected.includes(one)),
      expected,
    );
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
    type Named = Parameters<typeof layersFor>[0];
    const idsOf = (named: Named) => layersFor(named).flatMap(({ figures }) => figures.map(({ id }) => id));
    const ids = idsOf({});
    assert.ok(ids.includes('nginxPss') && !ids.some((id) => /haproxy|Host/.test(id)));
    const more = (named: Named) => idsOf(named).filter((id) => !ids.includes(id));
    assert.deepEqual(more({ haproxy: {} }), ['haproxyPss', 'haproxyRss']);
    assert.deepEqual(more({ nginx: { prometheus: [] } }), ['nginxHostUsed', 'nginxHostTcp']);
  });

  it('has no id twice, and figures that show by their id which layer they are of', () => {
    assert.equal(new Set(described.map(({ id }) => id)).size, described.length);
    for (const { id, layer } of figures) assert.equal(familyOf(id), familyOf(layer.id), id);
  });
});
