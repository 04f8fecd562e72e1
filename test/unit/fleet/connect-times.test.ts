import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Connecting } from '../../../plugin/fleet/process/counts/connecting.ts';
import type { ConnectStage } from '../../../protocol/connection.ts';
import { decodeHistogram } from '../../../protocol/histogram.ts';

test('every connection is in every snapshot after it, stage by stage', () => {
  const times = new Connecting(0);
  const values = (stage: ConnectStage) => {
    const { totalCount, minNonZeroValue, maxValue } = decodeHistogram(times.snapshot().connectUs[stage]);
    return [totalCount, minNonZeroValue, maxValue];
  };
  for (let index = 0; index < 600; index++) {
    times.opened({ tcpUs: 10, upgradeUs: 30, openUs: 60, namespaceUs: 100 }, 0, index < 599 ? 100 : 150);
    if (index === 0) assert.deepEqual(values('total'), [1, 100, 100]);
  }
  assert.deepEqual(values('total'), [600, 100, 150]);
  assert.deepEqual(values('tcp'), [600, 10, 10]);
  assert.deepEqual(values('upgrade'), [600, 20, 20]);
  assert.deepEqual(values('open'), [600, 30, 30]);
  assert.deepEqual(values('namespace'), [600, 40, 40]);
});

test('TLS is a stage where there is any', () => {
  const times = new Connecting(0);
  times.opened({ tcpUs: 10, tlsUs: 25, upgradeUs: 30, openUs: 60, namespaceUs: 100 }, 0, 100);
  const { tls, upgrade } = times.snapshot().connectUs;
  assert.deepEqual(
    [tls, upgrade].map((encoded) => decodeHistogram(encoded).maxValue),
    [15, 5],
  );
});

test('a client that cannot tell the stages tells the total', () => {
  const times = new Connecting(0);
  times.opened({ namespaceUs: 100 }, 0, 100);
  const { total, tcp, namespace } = times.snapshot().connectUs;
  assert.deepEqual(
    [total, tcp, namespace].map((encoded) => decodeHistogram(encoded).totalCount),
    [1, 0, 1],
  );
});
