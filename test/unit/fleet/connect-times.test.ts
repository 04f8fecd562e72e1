import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Connecting } from '../../../plugin/fleet/process/counts/connecting.ts';
import type { ConnectStage } from '../../../protocol/connection.ts';
import { decodeHistogram } from '../../../protocol/histogram.ts';

test('every stage of a connection that it has, and the total', () => {
  const times = new Connecting(0);
  times.opened({ tcpUs: 10, upgradeUs: 30, openUs: 60, namespaceUs: 100 }, 0, 150);
  times.opened({ tcpUs: 10, tlsUs: 25, upgradeUs: 30, openUs: 60, namespaceUs: 100 }, 0, 100);
  times.opened({ namespaceUs: 100 }, 0, 100);
  const { connectUs } = times.snapshot();
  const values = (stage: ConnectStage) => {
    const { totalCount, minNonZeroValue, maxValue } = decodeHistogram(connectUs[stage]);
    return [totalCount, minNonZeroValue, maxValue];
  };
  assert.deepEqual(values('total'), [3, 100, 150]);
  assert.deepEqual(values('tcp'), [2, 10, 10]);
  assert.deepEqual(values('tls'), [1, 15, 15]);
  assert.deepEqual(values('upgrade'), [2, 5, 20]);
  assert.deepEqual(values('open'), [2, 30, 30]);
  assert.deepEqual(values('namespace'), [3, 40, 100]);
});
