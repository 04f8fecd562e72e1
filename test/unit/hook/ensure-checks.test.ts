import assert from 'node:assert/strict';
import { test } from 'node:test';
import { thresholdsOf } from '../../../plugin/hook/thresholds.ts';

test('a threshold is met or not, with what was found, and the metrics that the run does not have', () => {
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
  const late = { original: 'connections.connect_time.p99 < 0.1', result: 0, strict: true, hashed: `${hash} < 0.1` };
  const stats = {
    counters: { 'vusers.failed': 0, 'vusers.created': 200, 'vusers.completed': 197, 'f.g': 2 },
    rates: {},
    summaries: { 'connections.connect_time': { p99: 12.9 } },
  };
  assert.deepEqual(thresholdsOf([...checks, late], stats), [
    {
      ...{ expression: 'vusers.failed < 1', met: true, strict: true },
      found: [{ metric: 'vusers.failed', value: 0, unit: '' }],
    },
    { expression: 'socketio.nosuch.p99 < 0.5', met: false, strict: true, unknown: ['socketio.nosuch.p99'] },
    {
      ...{ expression: 'max(a.b, a.c_d.e) < 3 and f.g > 1', met: false, strict: false },
      unknown: ['a.b', 'a.c_d.e'],
      found: [{ metric: 'f.g', value: 2, unit: '' }],
    },
    {
      ...{ expression: 'maxErrorRate <= 1', met: false, strict: true },
      found: [{ metric: 'maxErrorRate', value: 1.5, unit: '% of virtual users' }],
    },
    {
      ...{ expression: 'connections.connect_time.p99 < 0.1', met: false, strict: true },
      found: [{ metric: 'connections.connect_time.p99', value: 12.9, unit: 'ms' }],
    },
  ]);
});
