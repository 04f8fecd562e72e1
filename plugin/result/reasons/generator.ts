/** The load generator itself: what it was late by is in every figure. */

import type { Reason } from '../../../protocol/codes/verdict-reasons.ts';
import type { Result } from '../../../protocol/result/result.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import { saturationIn } from './machine.ts';
import { stallProblems } from './stalls.ts';
import { isThrottled } from './throttling.ts';

/** Beyond this, latencies and rates are the generator's own. */
const MAX_LOOP_DELAY_P99_MS = 50;

export function* generatorProblems({ snapshots }: Measurements, result: Omit<Result, 'verdict'>): Generator<Reason> {
  const { generator } = result;
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
      message: `the event loop of ${worst.part} ${worst.index}${worst.host === undefined ? '' : ` on ${worst.host}`} was ${worst.delayP99Ms.toFixed(0)} ms late (p99) during the ${worst.window}`,
      fix: 'give the generator its own cores, or lower the rate of connections and broadcasts',
    };
  }
  const queued = [...queue(result)];
  yield* queued;
  const explained = [...lagging.map(({ window }) => window), ...queued.map(() => 'broadcasts' as const)];
  yield* stallProblems(result, new Set(explained));
}

/** Of the latency that the sentinel saw. */
const MAX_BEHIND_SHARE = 0.25;

/** Of the lag: a loop that stood still for less did not cause it. */
const MIN_STALL_SHARE = 0.5;

/**
 * The worker serves the sentinel last, unless its fan-out is uneven: whoever is behind it waited after the server only
 * where the generator itself shows why.
 */
function* queue(result: Omit<Result, 'verdict'>): Generator<Reason> {
  const { sentinelMs, behindSentinelMs } = result.latency;
  if (!sentinelMs || !behindSentinelMs) return;
  // With fewer than 100 broadcasts the worst of them decides, as it does over the run's own p99.
  const behindMs = behindSentinelMs.p99 ?? behindSentinelMs.max;
  if (behindMs <= Math.max(MAX_LOOP_DELAY_P99_MS, sentinelMs.p50 * MAX_BEHIND_SHARE)) return;
  const cause = whyBehind(result, behindMs);
  if (cause === undefined) return;
  yield {
    code: 'GENERATOR_QUEUES',
    message: `receivers (p99) lag up to ${behindMs.toFixed(0)} ms behind the reference receiver (sentinel), although their worker serves it last, after ${sentinelMs.p50.toFixed(0)} ms (median): they waited in the generator: ${cause}`,
    fix: 'use latency.sentinelMs instead; give the generator its own cores or its own machine',
  };
}

function whyBehind(result: Omit<Result, 'verdict'>, behindMs: number): string | undefined {
  const [stalled] = result.generator
    .filter(({ window, part }) => window === 'broadcasts' && part === 'fleet')
    .toSorted((a, b) => b.delayMaxMs - a.delayMaxMs);
  if (stalled && stalled.delayMaxMs >= behindMs * MIN_STALL_SHARE) {
    return `the event loop of fleet ${stalled.index} was up to ${stalled.delayMaxMs.toFixed(0)} ms late meanwhile`;
  }
  if (isThrottled(result, 'broadcasts')) return 'its container had used up its quota of CPU time meanwhile';
  return saturationIn(result, 'broadcasts') && 'its machine had no CPU left meanwhile';
}
