/**
 * The measurements as Artillery metrics, so that `config.plugins.ensure` can set thresholds on them. `ensure` replaces
 * names inside expressions one after the other, so no name may be the beginning of a later one.
 */
import type { Result, Summary } from '../../protocol/result.ts';
import { LAYERS, type Layer } from '../samplers/index.ts';
import type { ArtilleryStats } from './artillery.ts';

/**
 * Adds the run's figures to Artillery's own. Where nothing was measured, nothing is added.
 * @param layers whose figures name the metrics of memory
 */
export function addMetrics(stats: ArtilleryStats, result: Result, layers: readonly Layer[] = LAYERS): void {
  const scalars: Record<string, number | null | undefined> = {
    'connections.peak': result.connections.peak,
    'connections.failed': result.connections.failed,
    'connections.rate': result.connections.achievedRatePerSec,
    'socketio.delivery.coverage': result.delivery?.coverage,
    'socketio.delivery.expected': result.delivery?.expected,
    'socketio.delivery.received': result.delivery?.received,
    'socketio.delivery.lost_connected': result.delivery?.lostConnected,
    'socketio.delivery.lost_disconnected': result.delivery?.lostDisconnected,
    'socketio.delivery.duplicates': result.delivery?.duplicates,
    'socketio.delivery.reordered': result.delivery?.reordered,
    'socketio.delivery.unexpected': result.delivery?.unexpected,
  };
  for (const { id, metric } of layers.flatMap(({ figures }) => figures)) {
    if (metric !== undefined) scalars[metric] = result.memory.perConnectionBytes[id]?.slope;
  }
  for (const [metric, value] of Object.entries(scalars)) {
    if (typeof value === 'number') stats.counters[metric] = Math.round(value * 10_000) / 10_000;
  }
  const { latency, connections } = result;
  const summaries: Record<string, Summary | null> = {
    'connections.connect_time': connections.connectMs,
    'socketio.broadcast.latency': latency.oneWayMs,
    'socketio.broadcast.completion': latency.completionMs,
    'socketio.broadcast.sentinel': latency.sentinelMs,
    'socketio.broadcast.send_delay': latency.sendDelayMs,
    'socketio.broadcast.round_trip_half_under_load': latency.roundTripHalfMs.underLoad,
    'socketio.broadcast.round_trip_half_single': latency.roundTripHalfMs.single,
  };
  for (const [metric, summary] of Object.entries(summaries)) {
    if (!summary) continue;
    const { p999, ...rest } = summary;
    // Before p99, which is its beginning.
    stats.summaries[metric] = { p999, ...rest, median: summary.p50 };
  }
}
