import assert from 'node:assert/strict';
import { test } from 'node:test';
import { thresholdsOf } from '../../../plugin/hook/thresholds.ts';

test('a threshold is met or not, and names the metrics that the run does not have', () => {
  const hash = `'${'ab12'.repeat(16)}'`;
  const checks = [
    { original: 'vusers.failed < 1', result: 1, strict: true, hashed: `${hash} < 1` },
    { original: 'socketio.nosuch.p99 < 0.5', result: 0, strict: true, hashed: 'socketio.nosuch.p99 < 0.5' },
    {
      ...{ original: 'max(a.b, a.c_d.e) < 3 and f.g > 1', result: 0, strict: false },
      hashed: `max(a.b, a.c_d.e) < 3 and ${hash} > 1`,
    },
    { original: 'maxErrorRate < 1', result: 0, strict: true },
  ];
  assert.deepEqual(thresholdsOf(checks), [
    { expression: 'vusers.failed < 1', met: true, strict: true },
    { expression: 'socketio.nosuch.p99 < 0.5', met: false, strict: true, unknown: ['socketio.nosuch.p99'] },
    { expression: 'max(a.b, a.c_d.e) < 3 and f.g > 1', met: false, strict: false, unknown: ['a.b', 'a.c_d.e'] },
    { expression: 'maxErrorRate < 1', met: false, strict: true },
  ]);
});
