/**
 * Detects that connects waited for the server. The signs are times in which no connection opened, and one connect stage
 * that took much longer than the others.
 */

import { findingValues } from '../../../../protocol/result/findings.ts';
import { withUnit } from '../../../../report/model/amount.ts';
import type { FindingDetail, RunFigures } from '../../check.ts';
import { longestDelayMs, MAX_DELAY_RATIO } from '../../evidence.ts';

/** Minimum time, in milliseconds, for which a connect must wait to indicate a limit of the server. */
const MIN_WAIT_MS = 1000;
/** Minimum mean time of a connect stage, in milliseconds, that indicates a queue in the server. */
const MIN_STAGE_MS = 100;
/**
 * Maximum time of all other connect stages, as a share of the slow stage. If all stages are slow, the machine or the
 * server is busy.
 */
const MAX_OTHER_SHARE = 0.1;

/** Name of the server's answer that ends a connect stage, by stage. */
const ANSWERS = {
  upgrade: {
    text: 'the answer to the WebSocket handshake',
    fix: 'find what holds the handshake back: an `allowRequest` or a middleware of Engine.IO that waits, or a limit of the proxy, such as `limit_req`',
  },
  open: {
    text: 'the handshake of Engine.IO',
    fix: 'find what holds the handshake back: an `allowRequest` or a middleware of Engine.IO that waits, or a limit of the proxy, such as `limit_req`',
  },
  namespace: {
    text: 'the answer of the namespace, after the handshake',
    fix: 'find what the middleware of the namespace (`io.use`) waits for: a pool, a lock, a slow query or another service',
  },
};
const STAGES = Object.keys(ANSWERS) as (keyof typeof ANSWERS)[];

type Ramps = Pick<RunFigures, 'generator' | 'connections'>;

export interface ConnectGap {
  waitedMs: number;
  /** Interval in which connections opened again after the wait: its start and its end, in seconds. */
  untilT: [number, number];
  /** Number of connections that opened in the interval after the wait, and their mean connect time. */
  opened: number;
  meanMs: number;
}

/**
 * Returns the longest period in which at least one connect waited for seconds and no other connection opened. Undefined
 * if the generator's timers were late.
 */
export function longestConnectGap(result: Ramps): ConnectGap | undefined {
  const { overTime } = result.connections;
  if (!overTime) return undefined;
  const { intervalSeconds, t, opened, slowestMs, meanMs } = overTime;
  const least = Math.max(MIN_WAIT_MS, 2000 * intervalSeconds, MAX_DELAY_RATIO * longestDelayMs(result));
  const gaps = slowestMs.flatMap((waitedMs, index): ConnectGap[] => {
    if (waitedMs === null || waitedMs < least) return [];
    const since = index - Math.floor(waitedMs / 1000 / intervalSeconds);
    const isGap = opened.slice(Math.max(0, since + 1), index).every((count) => count === 0);
    if (!isGap) return [];
    const from = t[index] ?? 0;
    const then = { opened: opened[index] ?? 0, meanMs: meanMs[index] ?? 0 };
    return [{ waitedMs, untilT: [from, from + intervalSeconds], ...then }];
  });
  return gaps.toSorted((a, b) => b.waitedMs - a.waitedMs)[0];
}

/** Returns the connect stage that took long on average, if it is the only slow stage. */
export function slowConnectStage(result: Ramps): Pick<FindingDetail, 'message' | 'values' | 'fix'> | undefined {
  const { stagesMs } = result.connections;
  const known = STAGES.flatMap((stage) => {
    const summary = stagesMs[stage];
    return summary ? [{ stage, ...summary }] : [];
  });
  const [slowest, ...others] = known.toSorted((a, b) => b.mean - a.mean);
  const least = Math.max(MIN_STAGE_MS, MAX_DELAY_RATIO * longestDelayMs(result));
  if (!slowest || others.length === 0 || slowest.mean < least) return undefined;
  const otherMs = Math.max(...others.map(({ p99, max }) => p99 ?? max));
  if (otherMs > MAX_OTHER_SHARE * slowest.mean) return undefined;
  const { stage, mean, max } = slowest;
  const { text, fix } = ANSWERS[stage];
  return {
    message: `connects waited ${seconds(mean)} on average, and up to ${seconds(max)}, for ${text} (stage \`${stage}\`), and at most ${withUnit('milliseconds', otherMs)} for the server’s other answers`,
    values: findingValues({ 'mean wait': mean, 'longest wait': max, 'longest wait in other stages': otherMs }, 'ms'),
    fix,
  };
}

/**
 * Returns the answer of the server for which the slowest connects waited; undefined if they waited in several stages.
 */
export function awaitedServerAnswer({ connections: { stagesMs, connectMs } }: Ramps): string | undefined {
  const stage = STAGES.find((one) => (stagesMs[one]?.max ?? 0) >= (1 - MAX_OTHER_SHARE) * (connectMs?.max ?? Infinity));
  return stage && `${ANSWERS[stage].text} (stage \`${stage}\`)`;
}

/** Returns whether connects waited for the server, and not for the generator or its machine. */
export function connectsWaitedForServer(result: Ramps): boolean {
  return longestConnectGap(result) !== undefined || slowConnectStage(result) !== undefined;
}

function seconds(ms: number): string {
  return withUnit('seconds', ms / 1000);
}
