/** Connections that something in between, or the server, closed because nothing was sent on them for too long. */

import { valuesOf } from '../../../../protocol/result/findings.ts';
import type { Result } from '../../../../protocol/result/result.ts';
import { decimals } from '../../../../report/text/format.ts';
import type { Detail, Measured } from '../../check.ts';

/** Ends without a close frame: a proxy that gives up sends none. */
const SILENT_END = /^(closed_1006)?$/;

/**
 * A time-out of an idle connection ends one that is silent since its connect, unless the server pings it before.
 * @param ageSeconds at which nearly all of the connections ended
 * @returns text to append, and its fix; undefined where they were not silent, or were pinged
 */
export function idleTimeOut(
  result: Pick<Measured, 'connections' | 'processes'>,
  ageSeconds: number,
): Pick<Detail, 'message' | 'fix' | 'values'> | undefined {
  const { ends } = result.connections;
  const intervals = ends.flatMap(({ pingIntervalMs }) => pingIntervalMs ?? []);
  const areSilent = ends.every(
    ({ reason, cause, sent, received }) =>
      /^transport /.test(reason) && SILENT_END.test(cause) && sent.high + received.high === 0,
  );
  const intervalMs = Math.min(...intervals);
  if (intervals.length === 0 || !areSilent || 1000 * ageSeconds >= intervalMs) return undefined;
  const [age, interval] = [ageSeconds, intervalMs / 1000].map((one) => decimals(one, 1).replace(/\.0$/, ''));
  const byProxy = isBehindProxy(result);
  const where =
    byProxy === false
      ? 'of the server, whose port has no proxy before it'
      : 'of a proxy: nginx `proxy_read_timeout` and `proxy_send_timeout`, HAProxy `timeout tunnel`, or the idle time-out of a load balancer';
  return {
    message: `; nothing was sent on them, and the server pings only every ${interval} s: an idle time-out of ${age} s ends them before the first ping`,
    fix: `raise the idle time-out above the ping interval of ${interval} s (${where}), or set \`pingInterval\` of the server below ${age} s`,
    values: valuesOf({ 'idle time-out': ageSeconds, 'ping interval': intervalMs / 1000 }, 's'),
  };
}

/** @returns whether the measured server does not listen on the target's port itself; undefined if unknown */
function isBehindProxy({ processes }: Pick<Result, 'processes'>): boolean | undefined {
  const ports = processes?.measured.flatMap((one) => (one.layer === 'worker' ? (one.ports ?? []) : [])) ?? [];
  return processes?.port == null || ports.length === 0 ? undefined : !ports.includes(processes.port);
}
