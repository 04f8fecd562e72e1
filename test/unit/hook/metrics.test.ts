/** Tests the metrics for `ensure`. Its plugin replaces metric names in expressions one after the other, as text. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { addMetrics } from '../../../plugin/result/artillery-metrics.ts';
import { runMetrics } from '../../../plugin/result/run-metrics.ts';
import { USER_METRICS } from '../../../plugin/virtual-user/user-metrics.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { column } from '../../helpers/columns.ts';
import { plannedFault } from '../../helpers/planned-fault.ts';
import { perfectResult, resultWithMessages } from '../../helpers/results.ts';

function metricsOf(result: Result) {
  const counters: Record<string, number> = {};
  const summaries: Record<string, Record<string, number>> = {};
  const added = { counters, rates: {}, summaries };
  addMetrics(added, result);
  return added;
}

/** Returns the metrics of a run in which everything was measured. */
function stats() {
  const functions = { received: 1, dropped: 0, failures: { check: 1 }, counters: {} };
  const result = { ...resultWithMessages(), fault: plannedFault(), functions };
  const { perConnectionBytes } = result.memory;
  const { systemUsed: kernelTcp, workerRss } = perConnectionBytes;
  Object.assign(perConnectionBytes, { kernelTcp, workerWorkingSet: workerRss, redisUsedMemory: workerRss });
  return metricsOf(result);
}

it('no metric name is a prefix of a later one, in the order in which `ensure` replaces them', () => {
  const { counters, summaries } = stats();
  const aggregations = Object.entries(summaries).flatMap(([name, summary]) =>
    Object.keys(summary).map((aggregation) => `${name}.${aggregation}`),
  );
  const all = [...Object.values(USER_METRICS).map(({ name }) => name), ...Object.keys(counters), ...aggregations];
  const later = (name: string, index: number) => all.slice(index + 1).filter((other) => other.startsWith(name));
  const clashes = all.flatMap((name, index) => later(name, index).map((other) => `${name} in ${other}`));
  // Artillery's own engines have both metrics, and scripts use them.
  assert.deepEqual(clashes, ['socketio.emit in socketio.emit_rate']);
});

it('sets every Artillery metric of the table, in its order', () => {
  const { counters, summaries } = stats();
  const given = [...Object.keys(counters), ...Object.keys(summaries)];
  assert.deepEqual(given, column(runMetrics(), 'name'));
});

it('every metric of the documented thresholds exists', () => {
  const { counters, summaries } = stats();
  assert.equal(counters['socketio.delivery.coverage'], 1);
  assert.equal(counters['memory.worker.bytes_per_connection'], 16_000);
  const { p99, median } = summaries['socketio.broadcast.latency'] ?? {};
  assert.deepEqual([p99, median], [50, 12.5]);
});

it('reports the maximum for a percentile that too few broadcasts support', () => {
  const result = perfectResult();
  const none = { p90: null, p95: null, p99: null, p999: null };
  result.latency.completionMs = { count: 6, min: 1, mean: 3, p50: 2, ...none, max: 9 };
  const summary = metricsOf(result).summaries['socketio.broadcast.completion'];
  assert.partialDeepStrictEqual(summary, { p50: 2, p90: 9, p95: 9, p99: 9, p999: 9 });
});

it('sums lost connections over all reasons, and does not round a coverage below 1 up to 1', () => {
  const result = perfectResult();
  result.connections.lost = { 'transport close': 3, 'parse error': 2 };
  Object.assign(result.delivery as object, { coverage: 0.9999999 });
  const { counters } = metricsOf(result);
  assert.deepEqual([counters['connections.lost'], counters['socketio.delivery.coverage']], [5, 0.9999999]);
});

const namesOf = (result: Result, prefix: string) =>
  Object.keys(metricsOf(result).counters).filter((name) => name.startsWith(prefix));

it('omits the metric for the memory of the whole deployment if the memory of one part is unknown', () => {
  const result = perfectResult();
  const name = 'memory.deployment.bytes_per_connection';
  assert.equal(metricsOf(result).counters[name], result.memory.perConnection?.bytes);
  Object.assign(result.memory.perConnection ?? {}, { isAtLeast: true });
  assert.deepEqual(namesOf(result, name), []);
});

it('sets no Artillery metric for figures that were not measured, or that are not fit to report', () => {
  const result = perfectResult();
  assert.deepEqual(namesOf({ ...result, delivery: null }, 'socketio.delivery'), []);
  const all = namesOf(result, 'memory.');
  assert.ok(all.length > 0);
  assert.deepEqual(namesOf({ ...result, verdict: { status: 'INVALID' } }, 'memory.'), []);
  assert.deepEqual(namesOf({ ...result, absent: { memory: 'no control port' } }, 'memory.'), []);
  const { systemUsed, nginxPss } = result.memory.perConnectionBytes;
  assert.ok(systemUsed && nginxPss);
  // Reports quote neither slope. One interval includes negative values, and the other is too wide.
  systemUsed.low95 = -1;
  nginxPss.low95 = 1;
  const quoted = all.filter((name) => !/^memory\.(system|nginx)\./.test(name));
  assert.deepEqual(namesOf(result, 'memory.'), quoted);
});
