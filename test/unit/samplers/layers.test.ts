/** What people script against: adding a layer adds a line here, and nothing here ever changes or goes. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LAYERS, layersFor } from '../../../plugin/samplers/layers/index.ts';
import { describeLayers } from '../../../plugin/samplers/layers/layer.ts';
import { familyOf } from '../../../report/figures/layers.ts';

const figures = LAYERS.flatMap((layer) => layer.figures.map((figure) => ({ layer, ...figure })));
const described = describeLayers(LAYERS);

describe('the table of layers', () => {
  it('has the keys of the result document', () => {
    assert.deepEqual(figures.map(({ id }) => id).toSorted(), [
      'artilleryPss',
      'artilleryRss',
      'fleetPss',
      'fleetRss',
      'haproxyHostTcp',
      'haproxyHostUsed',
      'haproxyPools',
      'haproxyPss',
      'haproxyRss',
      'kernelPageTables',
      'kernelSlab',
      'kernelTcp',
      'nginxHostTcp',
      'nginxHostUsed',
      'nginxPss',
      'nginxRss',
      'pm2Pss',
      'pm2Rss',
      'redisClientBuffers',
      'redisHostTcp',
      'redisHostUsed',
      'redisPss',
      'redisRss',
      'redisUsedMemory',
      'systemHeld',
      'systemUsed',
      'workerChildrenPss',
      'workerExternal',
      'workerHeapUsed',
      'workerHostTcp',
      'workerHostUsed',
      'workerKept',
      'workerPss',
      'workerRss',
      'workerWorkingSet',
    ]);
  });

  it('has the keys of CPU, with whose they are', () => {
    assert.deepEqual(
      described.filter(({ unit }) => unit === 'cpuSeconds').map(({ id, belongsTo }) => [id, belongsTo]),
      [
        ['worker', 'deployment'],
        ['nginx', 'deployment'],
        ['haproxy', 'deployment'],
        ['redis', 'deployment'],
        ['pm2', 'deployment'],
        ['fleet', 'generator'],
        ['artillery', 'generator'],
        ['system', 'machine'],
      ],
    );
  });

  it('sums every byte once: PSS and not RSS, no share of another layer, and not the whole', () => {
    assert.deepEqual(
      described.flatMap(({ id, inSum }) => (inSum ? [id] : [])),
      [
        'workerPss',
        'nginxPss',
        'haproxyPss',
        'redisPss',
        'pm2Pss',
        'kernelSlab',
        'kernelTcp',
        'kernelPageTables',
        'fleetPss',
        'artilleryPss',
      ],
    );
  });

  it("counts this machine's kernel figures as the machine's, and nothing else", () => {
    assert.deepEqual(
      figures.flatMap(({ id, layer }) => (layer.belongsTo === 'machine' ? [id] : [])),
      ['kernelSlab', 'kernelTcp', 'kernelPageTables', 'systemUsed', 'systemHeld'],
    );
  });

  it('has the metrics that thresholds are set on', () => {
    assert.deepEqual(Object.fromEntries(figures.flatMap(({ id, metric }) => (metric ? [[metric, id]] : []))), {
      'memory.worker.bytes_per_connection': 'workerRss',
      'memory.worker_pss.bytes_per_connection': 'workerPss',
      'memory.worker_heap.bytes_per_connection': 'workerHeapUsed',
      'memory.worker_container.bytes_per_connection': 'workerWorkingSet',
      'memory.nginx.bytes_per_connection': 'nginxPss',
      'memory.redis.bytes_per_connection': 'redisUsedMemory',
      'memory.kernel_tcp.bytes_per_connection': 'kernelTcp',
      'memory.system.bytes_per_connection': 'systemUsed',
    });
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
