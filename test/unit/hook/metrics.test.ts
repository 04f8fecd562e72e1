/** `ensure` replaces metric names in expressions textually, one after the other: none may be the beginning of a later one. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { addMetrics } from '../../../plugin/hook/metrics.ts';
import { runMetrics } from '../../../plugin/result/run-metrics.ts';
import { METRICS } from '../../../plugin/virtual-user/metrics.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { plannedFault } from '../../helpers/planned-fault.ts';
import { perfectResult, resultWithMessages } from '../../helpers/results.ts';

/** Of a run in which everything was measured. */
function stats() {
  const added = { counters: {}, rates: {}, summaries: {} as Record<string, Record<string, number>> };
  const result = { ...resultWithMessages(), fault: plannedFault() };
  const { perConnectionBytes } = result.memory;
  Object.assign(perConnectionBytes, {
    kernelTcp: perConnectionBytes.systemUsed,
    workerWorkingSet: perConnectionBytes.workerRss,
    redisUsedMemory: perConnectionBytes.workerRss,
  });
  addMetrics(added, result);
  return added;
}

/** In the order in which `ensure` replaces them. */
function names(): string[] {
  const { counters, summaries } = stats();
  const aggregations = Object.entries(summaries).flatMap(([name, summary]) =>
    Object.keys(summary).map((aggregation) => `${name}.${aggregation}`),
  );
  return [...Object.values(METRICS).map(({ name }) => name), ...Object.keys(counters), ...aggregations];
}

it('no metric name is the beginning of a later one', () => {
  const all = names();
  const clashes = all.flatMap((name, index) =>
    all.slice(index + 1).flatMap((later) => (later.startsWith(name) ? [`${name} in ${later}`] : [])),
  );
  // Artillery's own engines have these two, and scripts count on them.
  assert.deepEqual(clashes, ['socketio.emit in socketio.emit_rate']);
});

it('every metric of the table is given, in its order', () => {
  const { counters, summaries } = stats();
  assert.deepEqual(
    [...Object.keys(counters), ...Object.keys(summaries)],
    runMetrics().map(({ name }) => name),
  );
});

it('the documented thresholds are there', () => {
  const { counters, summaries } = stats();
  assert.equal((counters as Record<string, number>)['socketio.delivery.coverage'], 1);
  assert.equal((counters as Record<string, number>)['memory.worker.bytes_per_connection'], 16_000);
  assert.equal(summaries['socketio.broadcast.latency']?.p99, 50);
  assert.equal(summaries['socketio.broadcast.latency']?.median, 12.5);
});

it('a percentile that too few broadcasts carry is the maximum to thresholds, which it cannot exceed', () => {
  const result = perfectResult();
  const few = { count: 6, min: 1, mean: 3, p50: 2, p90: null, p95: null, p99: null, p999: null, max: 9 };
  result.latency.completionMs = few;
  const added = { counters: {}, rates: {}, summaries: {} as Record<string, Record<string, number>> };
  addMetrics(added, result);
  const { p50, p90, p95, p99, p999 } = added.summaries['socketio.broadcast.completion'] ?? {};
  assert.deepEqual([p50, p90, p95, p99, p999], [2, 9, 9, 9, 9]);
});

it('counts by reason are summed', () => {
  const result = perfectResult();
  result.connections.lost = { 'transport close': 3, 'buffers full': 2 };
  const added = { counters: {} as Record<string, number>, rates: {}, summaries: {} };
  addMetrics(added, result);
  assert.equal(added.counters['connections.lost'], 5);
});

it('what was not measured is no metric', () => {
  const result = { ...perfectResult(), delivery: null };
  const added = { counters: {}, rates: {}, summaries: {} };
  addMetrics(added, result);
  assert.deepEqual(
    Object.keys(added.counters).filter((name) => name.startsWith('socketio.delivery')),
    [],
  );
});

function memoryMetrics(result: Result): string[] {
  const added = { counters: {}, rates: {}, summaries: {} };
  addMetrics(added, result);
  return Object.keys(added.counters).filter((name) => name.startsWith('memory.'));
}

it('a slope that may not be quoted is no metric', () => {
  const result = perfectResult();
  const { systemUsed, nginxPss } = result.memory.perConnectionBytes;
  assert.ok(systemUsed && nginxPss);
  systemUsed.low95 = -1;
  nginxPss.low95 = 1;
  const withheld = ['memory.system.bytes_per_connection', 'memory.nginx.bytes_per_connection'];
  assert.deepEqual(
    memoryMetrics(result),
    memoryMetrics(perfectResult()).filter((name) => !withheld.includes(name)),
  );
});

it('memory that no report gives is no metric', () => {
  const result = perfectResult();
  assert.ok(memoryMetrics(result).length > 0);
  assert.deepEqual(memoryMetrics({ ...result, verdict: { status: 'INVALID', reasons: [] } }), []);
  assert.deepEqual(memoryMetrics({ ...result, absent: { memory: 'no control port' } }), []);
});

it('a share is 1 only where nothing is missing', () => {
  const added = { counters: {} as Record<string, number>, rates: {}, summaries: {} };
  const result = perfectResult();
  Object.assign(result.delivery as object, { coverage: 0.9999999 });
  addMetrics(added, result);
  assert.equal(added.counters['socketio.delivery.coverage'], 0.9999999);
});
