import assert from 'node:assert/strict';
import { it } from 'node:test';
import { hasThresholds } from '../../../plugin/script/ensure.ts';

it('finds thresholds in either place', () => {
  const conditions = [{ expression: 'connections.failed < 1' }];
  for (const [config, expected] of [
    [{}, false],
    [{ plugins: { ensure: {} } }, false],
    [{ plugins: { ensure: true }, ensure: { conditions: null, thresholds: [] } }, false],
    [{ plugins: { ensure: {} }, ensure: { conditions } }, true],
    [{ plugins: { ensure: { thresholds: [{ 'connections.failed': 1 }] } } }, true],
    [{ plugins: { ensure: {} }, ensure: { maxErrorRate: 0 } }, true],
  ] as const) {
    assert.equal(hasThresholds({ config } as never), expected, JSON.stringify(config));
  }
});
