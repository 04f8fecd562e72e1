/** Detects configured limits that could be taken for the capacity: connections stop at a certain number. */

import { failureDefinitionOf } from '../../../../protocol/codes/failure-codes.ts';
import { findingValues } from '../../../../protocol/result/findings.ts';
import { fullProcess } from '../../../../report/figures/limits.ts';
import { withUnit } from '../../../../report/model/amount.ts';
import { integerText, totalOfCounts } from '../../../../report/text/format.ts';
import { sum } from '../../../result/sums.ts';
import { type CheckFinding, defineCheck, type FindingCheck, type RunFigures } from '../../check.ts';
import { isTimeoutCause } from './failure-causes.ts';

/** Minimum share of the planned connections that must fail to indicate a limit. Fewer failures are noise. */
const MIN_SHARE = 0.01;
/** Minimum share of the planned connections that must open after the refusals to show that a server has recovered. */
const MIN_AFTER_SHARE = 0.1;
/** Share of all failures that must have the same cause to indicate a limit. */
const ONE_CAUSE = 0.9;
/**
 * Maximum connect time in milliseconds at which refusals indicate a configured limit. An overloaded server is slow for
 * every client.
 */
const MAX_FAST_MS = 1000;
/** Pattern of timeouts before the Engine.IO session has opened. Connection limits do not cause later timeouts. */
const TIMED_OUT = /^timeout_(?!namespace)/;
/**
 * Pattern of failure codes for connections that closed without a reason. The cause can be a proxy at its limit, or a
 * process without free file descriptors.
 */
const CLOSED = /^(closed|ECONNRESET$)/;
/**
 * Minimum number of processes with the same number of connections. Two processes may stop at about the same number by
 * chance.
 */
const MIN_PROCESSES = 3;
const MIN_CONNECTIONS = 100;
/**
 * Maximum difference between the numbers of connections in two processes that have reached the same limit. Without a
 * limit, lost connections cause larger differences.
 */
const SAME = { connections: 1, share: 0.001 };

export const limitsChecks: FindingCheck[] = [
  defineCheck('LIMIT_REACHED', configuredLimit),
  defineCheck('LIMIT_REACHED', (result, { fullest }) => {
    const { target, failed, peak } = result.connections;
    const full = fullProcess(result);
    if (full === undefined || failed === 0 || failed < target * MIN_SHARE) return undefined;
    const { worker, open, limit } = full;
    const named = fullest ? `process ${fullest.pid} (${fullest.command})` : 'a process of the server';
    const beside = filesBesideConnections(fullest?.command ?? '', open, peak);
    const values = findingValues({ 'failed connections': failed, 'open files': open, 'limit of open files': limit });
    // The number of open files can exceed the limit, because inherited files may have higher numbers.
    const files =
      open >= limit ? `all of its ${integerText(limit)}` : `${integerText(open)} of at most ${integerText(limit)}`;
    const message = `${failed} failed, and ${worker || named} had ${files} files open`;
    if (beside !== undefined)
      return {
        message: `${message}, at least ${integerText(beside)} of which are no connections`,
        values: [...values, ...findingValues({ 'open files beside connections': beside })],
        fix: leakedFilesFix(fullest?.pid),
      };
    return {
      message,
      values,
      fix: 'raise the limit where the server is started: `ulimit -n 65536`, or LimitNOFILE of its systemd unit',
    };
  }),
  defineCheck('LIMIT_REACHED', (result) => {
    const { target, failed, failures, connectMs } = result.connections;
    const failedBy = (kind: RegExp) =>
      sum(Object.entries(failures).map(([cause, count]) => (kind.test(cause) ? count : 0)));
    const [waited, closed] = [failedBy(TIMED_OUT), failedBy(CLOSED)];
    const isMost = waited + closed >= Math.max(target * MIN_SHARE, failed * ONE_CAUSE, 1);
    const isFast = connectMs !== null && connectMs.max < MAX_FAST_MS;
    if (!isMost || !isFast || !nobodyCameAfter(result) || fullProcess(result) !== undefined) return undefined;
    const [became, fix] =
      waited > closed
        ? [
            `${waited} waited until they timed out`,
            'raise the limit that lets others wait: HAProxy `maxconn`, a listen queue, or one of the server itself',
          ]
        : [
            `${closed} were closed during the setup`,
            'raise the limit that ends others: `worker_connections` of nginx (two for each connection), open files, or one of the server itself',
          ];
    return {
      message: `${connectMs.count} connections were accepted, within ${withUnit('milliseconds', connectMs.max)} at most, and none after them: ${became}`,
      values: [
        ...findingValues({
          'connections let in': connectMs.count,
          'connections not accepted': Math.max(waited, closed),
        }),
        ...findingValues({ 'longest connect time': connectMs.max }, 'ms'),
      ],
      fix,
    };
  }),
  defineCheck('LIMIT_REACHED', ({ connections: { target, peak } }, { snapshots, overTime }) => {
    // If virtual users connect and disconnect all the time, the planned connections are never open at the same time.
    if (overTime) return undefined;
    const held = snapshots.flatMap(({ processes }) => processes.map(({ connections }) => connections));
    const [least, most] = [Math.min(...held), Math.max(...held)];
    const same = most - least <= Math.max(SAME.connections, most * SAME.share);
    const areMissing = target - peak >= target * MIN_SHARE;
    if (!areMissing || held.length < MIN_PROCESSES || least < MIN_CONNECTIONS || !same) return undefined;
    return {
      ...{ about: 'generator' as const, invalidates: ['connections' as const] },
      message: `each of ${held.length} fleet processes stopped at ${most} connections: this is a limit of the generator, not the server's capacity`,
      values: findingValues({ 'connections of each process': most, 'fleet processes': held.length }),
      fix: 'find the limits of this machine: `npx socketio-capacity doctor <scenario>`',
    };
  }),
];

/** Returns the configured limit that the failure code of nearly all failures indicates. */
export function configuredLimit(result: RunFigures): CheckFinding {
  const { target, failed, failures, lost, opened, failureExamples } = result.connections;
  const [cause, count] = Object.entries(failures).toSorted(([, a], [, b]) => b - a)[0] ?? ['', 0];
  const known = failureDefinitionOf(cause);
  // A limit does not refuse all connections, neither in the whole run nor for a period.
  if (opened === 0 || outageOf(result)) return undefined;
  if (!known?.isLimit || failed < target * MIN_SHARE || count < (failed + totalOfCounts(lost)) * ONE_CAUSE)
    return undefined;
  const came = cameAfterRefusals(result);
  if (!known.isRate && came > failed) return undefined;
  const isOfRate = known.isRate && came >= target * MIN_SHARE;
  const rate = isOfRate ? `; ${came} came in after the first refusals, as with a limit of the rate` : '';
  const words = failureExamples[cause] === undefined ? '' : `${failureExamples[cause]}: `;
  const message = `${words}${count} of ${failed} failed with ${cause}: ${known.meaning}${rate}`;
  const about = known.blame ?? 'deployment';
  const values = findingValues({
    [`failed with ${cause}`]: count,
    'failed connections': failed,
    'connections after the first refusals': isOfRate ? came : undefined,
  });
  return { message, values, fix: known.remedy, about, ...(about !== 'deployment' && { invalidates: ['connections'] }) };
}

interface Outage {
  /**
   * Start of the period in seconds. During the period, the server refused connections and none opened. It ends at `to`,
   * before connections open again.
   */
  from: number;
  to: number;
  /**
   * Time from which no more connections were refused, in seconds. `after` is the number of connections that opened from
   * this time on.
   */
  since: number;
  after: number;
}

/**
 * Returns the period in which the server refused all connections, if it accepted all connections before and after.
 * Undefined if any connection closed, because a limit could then explain the refusals.
 */
export function outageOf({ connections: { overTime, failures, target } }: RunFigures): Outage | undefined {
  if (!overTime || Object.keys(failures).some(isTimeoutCause)) return undefined;
  const { opened, failed, ended, t, intervalSeconds } = overTime;
  const isFailing = (count: number) => count > 0;
  const [first, last] = [failed.findIndex(isFailing), failed.findLastIndex(isFailing)];
  const isClosed = failed.some((count, index) => count > 0 && opened[index] === 0);
  // The first and the last interval with refusals are excluded, because connections may have opened in them, too.
  const [within, left] = [opened.slice(first + 1, last), ended.slice(0, opened.findLastIndex(isFailing) + 1)];
  const after = sum(opened.slice(last + 1));
  const isOver = after >= Math.max(1, target * MIN_AFTER_SHARE);
  if (!isClosed || !isOver || sum(within) > 0 || sum(left) > 0) return undefined;
  // Intervals in which connections opened are excluded: the connections may have opened before or after the refusals.
  const closed = t.filter((_, index) => index >= first && index <= last && opened[index] === 0);
  const [from = 0, until = 0] = [closed[0], closed.at(-1)];
  return { from, to: until + intervalSeconds, since: (t[last] ?? 0) + intervalSeconds, after };
}

/**
 * Returns the number of connections that opened after the first failure. If some connections had closed before, the
 * result is a lower limit.
 */
function cameAfterRefusals({ connections: { overTime, peak } }: RunFigures): number {
  const first = overTime?.failed.findIndex((count) => count > 0) ?? -1;
  return first < 0 ? 0 : Math.max(0, peak - sum(overTime?.opened.slice(0, first + 1) ?? []));
}

/**
 * Returns whether the open connections stayed open and received broadcasts while all later connection attempts failed.
 */
function nobodyCameAfter({ connections: { overTime, lost }, delivery }: RunFigures): boolean {
  if (!overTime || Object.keys(lost).length > 0 || delivery?.received === 0) return false;
  const last = overTime.opened.findLastIndex((count) => count > 0);
  // Some connection attempts may fail in the same interval in which the last connection opens.
  const isAfter = (count: number, index: number) => count > 0 && index > last;
  return overTime.failed.some(isAfter) && overTime.failed.every((count, index) => count === 0 || index >= last);
}

/**
 * Minimum number of open files that are not connections to report them. The modules, pipes and logs of a server are
 * fewer.
 */
const MIN_OTHER_FILES = 40;
/** Pattern of programs that use one socket for each connection. A proxy uses two sockets. */
const ONE_SOCKET = /^(\S*\/)?(node|bun|deno)\b/;

/**
 * Returns the number of a process's open files that are not connections; undefined if all of them may be connections.
 * @param connections the highest possible number of the process's connections; if there are several processes, its
 * share
 */
export function filesBesideConnections(command: string, openFiles: number, connections: number): number | undefined {
  const beside = openFiles - connections;
  return ONE_SOCKET.test(command) && beside > Math.max(connections, MIN_OTHER_FILES) ? beside : undefined;
}

/**
 * Returns the suggested fix for files that the server opens but does not close.
 * @param pid id of the running process
 */
function leakedFilesFix(pid: number | undefined): string {
  return `find which files the server opens and does not close: \`ls -l /proc/${pid}/fd\` lists them`;
}
