/**
 * Explains connections that closed because they missed a ping from the server or because they were silent, and
 * determines which side was late.
 */

import { findingValues } from '../../../../protocol/result/findings.ts';
import type { Result } from '../../../../protocol/result/result.ts';
import { decimalsText } from '../../../../report/text/format.ts';
import type { FindingDetail, RunFigures } from '../../check.ts';
import { longestDelayMs } from '../../evidence.ts';

/** Socket.IO's disconnect reason in a client that missed a ping. */
export const PING_TIMEOUT = 'ping timeout';
/** CPU use from which the event loop of a server process counts as blocked, in percent of a core. */
const BLOCKED_PERCENT = 90;

interface Cycle {
  intervalMs: number;
  timeoutMs: number;
}

/**
 * Returns the time after which a missing ping closes a connection: the shortest ping interval plus ping timeout that
 * the server announced to the affected connections.
 */
export function missedPingCycle({ connections: { ends } }: Pick<Result, 'connections'>): Cycle | undefined {
  const cycles = ends.flatMap(({ reason, pingIntervalMs, pingTimeoutMs }) =>
    reason === PING_TIMEOUT && pingIntervalMs !== null && pingTimeoutMs !== null
      ? [{ intervalMs: pingIntervalMs, timeoutMs: pingTimeoutMs }]
      : [],
  );
  return cycles.toSorted((a, b) => a.timeoutMs - b.timeoutMs)[0];
}

/**
 * Explains missed pings.
 * @param untilT time in seconds at which most connections closed, on the time axis of the samples; undefined if unknown
 * @returns text to append, and the fix; undefined if no connection missed a ping
 */
export function missedPingsDetail(
  result: RunFigures,
  untilT: number | undefined,
): Pick<FindingDetail, 'message' | 'fix' | 'values'> | undefined {
  const cycle = missedPingCycle(result);
  if (!cycle) return undefined;
  const { intervalMs, timeoutMs } = cycle;
  const rule = `the server pings every ${seconds(intervalMs)} s, and its clients give up when a ping is ${seconds(timeoutMs)} s late`;
  const delayMs = longestDelayMs(result);
  const values = findingValues(
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
  const percent =
    untilT === undefined ? undefined : busiestProcessPercent(result, untilT - (intervalMs + timeoutMs) / 1000, untilT);
  const cpu = percent === undefined ? '' : `, whose processes used up to ${decimalsText(percent, 0)} % of a core then`;
  const isBlocked = percent !== undefined && percent >= BLOCKED_PERCENT;
  return {
    values: [...values, ...findingValues({ 'highest CPU of a server process': percent }, '%')],
    message: `; ${rule}; the generator was at most ${seconds(delayMs)} s late, so the ${isBlocked ? 'event loop of the server stood still' : 'pings were late on the side of the server'}${cpu}`,
    fix: isBlocked
      ? `find what blocks the event loop of the server for over ${seconds(timeoutMs)} s: a loop, synchronous I/O or a large \`JSON.parse\`; a CPU profile shows it`
      : `find what held the pings back for over ${seconds(timeoutMs)} s: an event loop that is blocked, a proxy that buffers, or a process that was stopped; or raise \`pingTimeout\` of the server`,
  };
}

function seconds(ms: number): string {
  return decimalsText(ms / 1000, ms < 1000 ? 2 : 1).replace(/\.?0+$/, '');
}

/** Returns the highest CPU use of a server process in the samples from a period, in percent of a core. */
export function busiestProcessPercent(
  { samples, connections }: RunFigures,
  sinceT: number,
  untilT: number,
): number | undefined {
  const workers = Math.max(1, Object.keys(connections.perWorker).length);
  const all = samples
    .filter(({ t }) => t > sinceT && t <= untilT)
    .flatMap(({ worker }) => (worker as { cpuPercent?: number } | undefined)?.cpuPercent ?? []);
  return all.length > 0 ? Math.max(...all) / workers : undefined;
}

/** Pattern of failure codes for connections that closed without a close frame. A proxy sends none after a timeout. */
const SILENT_END = /^(closed_1006)?$/;

/**
 * Detects that a timeout for idle connections closed the connections. Such a timeout closes connections that have been
 * silent since their connect, if the server pings less often.
 * @param ageSeconds age at which nearly all of the connections closed
 * @returns text to append, and the fix; undefined if the connections were not silent, or if the server pinged them
 */
export function idleTimeoutDetail(
  result: Pick<RunFigures, 'connections' | 'processes'>,
  ageSeconds: number,
): Pick<FindingDetail, 'message' | 'fix' | 'values'> | undefined {
  const { ends } = result.connections;
  const intervals = ends.flatMap(({ pingIntervalMs }) => pingIntervalMs ?? []);
  const areSilent = ends.every(
    ({ reason, cause, sent, received }) =>
      /^transport /.test(reason) && SILENT_END.test(cause) && sent.high + received.high === 0,
  );
  const intervalMs = Math.min(...intervals);
  if (intervals.length === 0 || !areSilent || 1000 * ageSeconds >= intervalMs) return undefined;
  const [age, interval] = [ageSeconds, intervalMs / 1000].map((one) => decimalsText(one, 1).replace(/\.0$/, ''));
  const byProxy = isBehindProxy(result);
  const where =
    byProxy === false
      ? 'of the server, whose port has no proxy before it'
      : 'of a proxy: nginx `proxy_read_timeout` and `proxy_send_timeout`, HAProxy `timeout tunnel`, or the idle time-out of a load balancer';
  return {
    message: `; nothing was sent on them, and the server pings only every ${interval} s: an idle time-out of ${age} s ends them before the first ping`,
    fix: `raise the idle time-out above the ping interval of ${interval} s (${where}), or set \`pingInterval\` of the server below ${age} s`,
    values: findingValues({ 'idle time-out': ageSeconds, 'ping interval': intervalMs / 1000 }, 's'),
  };
}

/** Returns whether a process other than the measured server listens on the target's port; undefined if unknown. */
function isBehindProxy({ processes }: Pick<Result, 'processes'>): boolean | undefined {
  const ports = processes?.measured.flatMap((one) => (one.layer === 'worker' ? (one.ports ?? []) : [])) ?? [];
  return processes?.port == null || ports.length === 0 ? undefined : !ports.includes(processes.port);
}
