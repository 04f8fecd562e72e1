/** The load generator itself: what it was late by is in every figure. */
import type { Result } from '../../../protocol/result.ts';
import type { Reason } from '../../../protocol/verdict-reasons.ts';
import type { Measurements } from '../../run/measurements.ts';

/** Beyond this, latencies and rates are the generator's own. */
const MAX_LOOP_DELAY_P99_MS = 50;

export function* generatorProblems(
  { snapshots }: Measurements,
  { generator, latency }: Omit<Result, 'verdict'>,
): Generator<Reason> {
  const dead = snapshots.flatMap(({ processes }) => processes).filter(({ alive }) => !alive);
  if (dead.length > 0) {
    yield {
      code: 'FLEET_PROCESS_DIED',
      message: `${dead.length} fleet process${dead.length > 1 ? 'es' : ''} died; their connections count as lost while disconnected`,
      fix: 'check `dmesg` for out-of-memory kills; give the generator its own machine',
    };
  }
  const silent = snapshots.flatMap(({ processes }) => processes).filter(({ alive, answers }) => alive && !answers);
  if (silent.length > 0) {
    yield {
      code: 'FLEET_PROCESS_SILENT',
      message: `${silent.length} fleet process${silent.length > 1 ? 'es do' : ' does'} not answer (pid ${silent.map(({ pid }) => pid).join(', ')}): what ${silent.length > 1 ? 'their' : 'its'} connections received is not known`,
      fix: 'check whether it was stopped, or the machine ran out of CPU or memory; give the generator its own machine',
    };
  }
  const lagging = generator.filter(({ delayP99Ms }) => delayP99Ms > MAX_LOOP_DELAY_P99_MS);
  const worst = lagging.toSorted((a, b) => b.delayP99Ms - a.delayP99Ms)[0];
  if (worst) {
    yield {
      code: 'GENERATOR_LAGS',
      message: `the event loop of ${worst.part} ${worst.index} was ${worst.delayP99Ms.toFixed(0)} ms late (p99) during the ${worst.window}`,
      fix: 'give the generator its own cores, or lower the rate of connections and broadcasts',
    };
  }
  yield* queue(latency);
}

/** Of the latency that the sentinel saw. */
const MAX_BEHIND_SHARE = 0.25;

/** The worker serves the sentinel last: whoever is behind it waited after the server. */
function* queue({ sentinelMs, behindSentinelMs }: Result['latency']): Generator<Reason> {
  if (!sentinelMs || !behindSentinelMs) return;
  // With fewer than 100 broadcasts the worst of them decides, as it does over the run's own p99.
  const behindMs = behindSentinelMs.p99;
  if (behindMs <= Math.max(MAX_LOOP_DELAY_P99_MS, sentinelMs.p50 * MAX_BEHIND_SHARE)) return;
  yield {
    code: 'GENERATOR_QUEUES',
    message: `receivers (p99) lag up to ${behindMs.toFixed(0)} ms behind the reference receiver (sentinel), although their worker serves it last, after ${sentinelMs.p50.toFixed(0)} ms (median): broadcasts queued in the generator or in the proxy`,
    fix: 'use latency.sentinelMs instead; give the generator its own cores or its own machine',
  };
}
