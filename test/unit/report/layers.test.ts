import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { layerStyle } from '../../../report/charts/palette.ts';
import {
  cpuLayers,
  firstOfEachFamily,
  layersInTableOrder,
  layerTitle,
  mainLayers,
  slopeLayers,
} from '../../../report/figures/layers.ts';
import { perfectResult } from '../../helpers/results.ts';

describe('the layers of a result', () => {
  it('the layers of a result have the names and the order of the document, with unknown layers last', () => {
    const result = perfectResult();
    result.memory.layers.reverse();
    assert.equal(layerTitle(result, 'pm2Pss'), 'PM2 daemon PSS');
    assert.equal(layerTitle(result, 'haproxyMaps'), 'haproxy maps');
    assert.deepEqual(layersInTableOrder(result, ['other', 'workerPss', 'nginxPss']), [
      'nginxPss',
      'workerPss',
      'other',
    ]);
  });

  it('the layers of a result exclude minor layers, and include one layer for each process', () => {
    assert.deepEqual(firstOfEachFamily(['workerPss', 'workerRss', 'pm2Rss', 'pm2Pss']), ['workerPss', 'pm2Rss']);
    const main = mainLayers(perfectResult());
    assert.deepEqual([main.includes('nginxPss'), main.includes('nginxRss')], [true, false]);
  });

  it('the layers of a result exclude layers that are always 0', () => {
    const result = perfectResult();
    assert.ok(slopeLayers(result).includes('nginxPss'));
    for (const plateau of result.memory.plateaus) plateau.nginxPss = 0;
    assert.ok(!slopeLayers(result).includes('nginxPss'));
  });

  it('the layers of a result have distinct colours in charts', () => {
    const result = perfectResult();
    const styles = cpuLayers(result).map(({ id }) => JSON.stringify(layerStyle(result, id)));
    assert.equal(new Set(styles).size, cpuLayers(result).length);
    assert.equal(layerStyle(result, 'workerHeapUsed').color, layerStyle(result, 'worker').color);
  });
});
