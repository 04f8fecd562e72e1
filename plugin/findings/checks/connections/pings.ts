/** Connections that closed because no ping of the server came: whether the server or the generator was late. */

import { valuesOf } from '../../../../protocol/result/findings.ts';
import type { Result } from '../../../../protocol/result/result.ts';
import { decimals } from '../../../../report/text/format.ts';
import type { Detail, Measured } from '../../check.ts';
import { longestDelayMs } from '../../evidence.ts';

/** Socket.IO's reason at a client that missed a ping. */
export const PING_TIMEOUT = 'ping timeout';
/** CPU of the server, in percent of a core for each of its processes, that shows a blocked event loop. */
const BLOCKED_PERCENT = 90;

interface Cycle {
  intervalMs: number;
  timeoutMs: number;
}

/** @returns the shortest ping cycle that the handshakes of connections without a ping announced */
export function missedCycle({ connections: { ends } }: Pick<Result, 'connections'>): Cycle | undefined {
  const cycles = ends.flatMap(({ reason, pingIntervalMs, pingTimeoutMs }) =>
    reason === PING_TIMEOUT && pingIntervalMs !== null && pingTimeoutMs !== null
      ? [{ intervalMs: pingIntervalMs, timeoutMs: pingTimeoutMs }]
      : [],
  );
  return cycles.toSorted((a, b) => a.timeoutMs - b.timeoutMs)[0];
}

/**
 * @param untilT seconds at which most connections ended, on the time axis of the samples; undefined if unknown
 * @returns text to append, and its fix; undefined where no connection missed a ping
 */
export function missedPings(
  result: Measured,
  untilT: number | undefined,
): Pick<Detail, 'message' | 'fix' | 'values'> | undefined {
  const cycle = missedCycle(result);
  if (!cycle) return undefined;
  const { intervalMs, timeoutMs } = cycle;
  const rule = `the server pings every ${seconds(intervalMs)} s, and its clients give up when a ping is ${seconds(timeoutMs)} s late`;
  const delayMs = longestDelayMs(result);
  const values = valuesOf(
    { 'ping interval': intervalMs, 'ping timeout': timeoutMs, 'longest delay of the generator': delayMs },
    'ms',
  );
  if (delayMs >= timeoutMs) {
    return {
      values,
      message: `; ${rule}; an event loop of the generator was ${seconds(delayMs)} s late, so it can have missed them`,
      fix: 'give the generator its own cores, or lower the load: a ping that it reads late counts as missing',
    };
  }
  const percent = untilT === undefined ? undefined : busiest(result, untilT - (intervalMs + timeoutMs) / 1000, untilT);
  const cpu = percent === undefined ? '' : `, whose processes used up to ${decimals(percent, 0)} % of a core then`;
  const isBlocked = percent !== undefined && percent >= BLOCKED_PERCENT;
  return {
    values: [...values, ...valuesOf({ 'highest CPU of a server process': percent }, '%')],
    message: `; ${rule}; the generator was at most ${seconds(delayMs)} s late, so the ${isBlocked ? 'event loop of the server stood still' : 'pings were late on the side of the server'}${cpu}`,
    fix: isBlocked
      ? `find what blocks the event loop of the server for over ${seconds(timeoutMs)} s: a loop, synchronous I/O or a large \`JSON.parse\`; a CPU profile shows it`
      : `find what held the pings back for over ${seconds(timeoutMs)} s: an event loop that is blocked, a proxy that buffers, or a process that was stopped; or raise \`pingTimeout\` of the server`,
  };
}

function seconds(ms: number): string {
  return decimals(ms / 1000, ms < 1000 ? 2 : 1).replace(/\.?0+$/, '');
}

/** @returns the highest CPU of a server process in a sample of the time, in percent of a core */
export function busiest({ samples, connections }: Measured, sinceT: number, untilT: number): number | undefined {
  const workers = Math.max(1, Object.keys(connections.perWorker).length);
  const all = samples
    .filter(({ t }) => t > sinceT && t <= untilT)
    .flatMap(({ worker }) => (worker as { cpuPercent?: number } | undefined)?.cpuPercent ?? []);
  return all.length > 0 ? Math.max(...all) / workers : undefined;
}
