/** Checks that the broadcasts were sent on time and to all members. */

import type { BroadcastBatch } from '../../../../protocol/result/delivery-schema.ts';
import { findingValues } from '../../../../protocol/result/findings.ts';
import type { Result } from '../../../../protocol/result/result.ts';
import { withUnit } from '../../../../report/model/amount.ts';
import { integerText } from '../../../../report/text/format.ts';
import { sum } from '../../../result/sums.ts';
import { isDuringFault } from '../../../run/fault/fault-times.ts';
import type { Measurements } from '../../../run/measurements/measurements.ts';
import { defineCheck, defineCheckUnless, type FindingCheck } from '../../check.ts';

/**
 * Minimum send delay of a broadcast in milliseconds that is reported, as for messages and event loops. A shorter delay
 * hardly changes the figures.
 */
const MIN_LATE_MS = 50;
/**
 * Minimum send delay that is reported, as a share of the interval between broadcasts. With a longer delay, a broadcast
 * is closer to the next broadcast than to its own time.
 */
const MIN_LATE_SHARE = 0.5;
/**
 * Maximum share of late broadcasts that is not reported. A worker that pauses briefly sends a few broadcasts late, and
 * their latency shows that.
 */
const MAX_LATE_SHARE = 0.1;

export const broadcastsChecks: FindingCheck[] = [
  defineCheck('BROADCASTS_NOT_SENT', (_, { sent, unsent: all, unknown, fault, ownEvent }) => {
    // Broadcasts that were not sent during a planned fault are part of the result of the fault.
    const unsent = all.filter(({ intendedAtUs }) => !isDuringFault(fault, intendedAtUs ?? 0));
    const [first] = unsent;
    if (!first) return undefined;
    const planned = sent.length + all.length + unknown.length;
    return {
      message: `${unsent.length} of ${planned} broadcasts were not sent; the first one: ${first.message}`,
      values: findingValues({ 'broadcasts not sent': unsent.length, 'planned broadcasts': planned }),
      ...(!ownEvent && { fix: 'see the worker logs' }),
      // Workers that refuse to publish are reported by a separate finding.
      ...(unsent.every(({ isRefused }) => isRefused) && { about: 'measurement' }),
    };
  }),
  // A run that ended early has not waited for the workers' confirmations.
  defineCheckUnless('abort', 'BROADCASTS_UNCONFIRMED', (_, { sent, unsent, unknown: all, fault }) => {
    const unknown = all.filter(({ intendedAtUs }) => !isDuringFault(fault, intendedAtUs));
    const [first] = unknown;
    if (!first) return undefined;
    const planned = sent.length + unsent.length + all.length;
    const which = `${unknown.length} of ${planned} broadcasts`;
    return {
      message: `${which} were not confirmed, and no copy of them came; the first one: ${first.message}`,
      values: findingValues({ 'unconfirmed broadcasts': unknown.length, 'planned broadcasts': planned }),
      window: 'broadcasts',
    };
  }),
  defineCheckUnless('abort', 'DRAIN_TOO_SHORT', (_, { tailCut }) => {
    if (!tailCut) return undefined;
    const { copies, unconfirmed, seconds } = tailCut;
    const missing = [
      ...(copies > 0 ? [`about ${integerText(copies)} copies`] : []),
      ...(unconfirmed > 0 ? [`the confirmations of ${unconfirmed} broadcasts`] : []),
    ];
    const without = missing.length > 0 ? ` without ${missing.join(' and ')}` : '';
    return {
      message: `copies still came when the drain ended after ${withUnit('seconds', seconds)}${without}: latencies are lower bounds, and what counts as lost may only be late`,
      values: [
        ...findingValues({ drain: seconds }, 's'),
        ...findingValues({ 'missing copies': copies, 'missing confirmations': unconfirmed }),
      ],
    };
  }),
  // If no row has a send delay, the planned send times of the broadcasts are unknown.
  defineCheck('BROADCASTS_LATE', (result, { sent, fault, ownEvent, workersAtStart }) => {
    const { sendDelayMs } = result.latency;
    const all = howMany(sent);
    if (!sendDelayMs || all < 2) return undefined;
    const intervalMs = spanUs(sent.map(({ intendedAtUs }) => intendedAtUs)) / 1000 / (all - 1);
    const limitMs = Math.max(MIN_LATE_MS, intervalMs * MIN_LATE_SHARE);
    const late = sent.filter(
      (one) => !one.unconfirmed && delayMs(one) > limitMs && !isDuringFault(fault, one.intendedAtUs),
    );
    if (howMany(late) <= Math.max(1, all * MAX_LATE_SHARE)) return undefined;
    const worstMs = late.reduce((most, one) => Math.max(most, delayMs(one)), 0);
    const which = `${howMany(late)} of ${all} broadcasts left more than ${withUnit('milliseconds', limitMs)} late`;
    const countedMs = workersAtStart.length > 1 && !ownEvent ? longestCountMs(late) : undefined;
    const values = [
      ...findingValues({ 'late broadcasts': howMany(late), broadcasts: all }),
      ...findingValues(
        {
          'delay that is too long': limitMs,
          'longest delay': worstMs,
          'interval of the broadcasts': intervalMs,
          'longest count of members': countedMs,
        },
        'ms',
      ),
    ];
    if (countedMs !== undefined)
      return {
        values,
        message: `${which}, up to ${withUnit('milliseconds', worstMs)}: all were ordered in time, and it took up to ${withUnit('milliseconds', countedMs)} to count their members on all workers`,
        fix: 'find what is slow between the workers: their adapter, such as Redis, the way to it, or their event loops',
      };
    return {
      values,
      message: `${which}, up to ${withUnit('milliseconds', worstMs)}, with one planned every ${withUnit('milliseconds', intervalMs)}`,
      fix: `raise \`${ownEvent ? 'delivery.publish.every' : 'broadcasts.interval'}\`, or give workers and generator more CPU; latencies count from the planned times`,
    };
  }),
  defineCheck('NO_MEMBERS', ({ delivery, connections: { held } }) => {
    const { batches = [], source } = delivery ?? {};
    // If all connections had closed, another finding reports that.
    if (batches.length === 0 || batches.some(({ expected }) => expected > 0) || held === 0) return undefined;
    return {
      message: `${batches.length} broadcasts had no member, by what the server acknowledged before they were sent`,
      values: findingValues({ 'broadcasts without members': batches.length }),
      ...(source === 'own event' && {
        fix: 'let the flow emit the event that `delivery.join` names, and the server acknowledge it',
      }),
    };
  }),
  defineCheck('MEMBERS_DISAGREE', ({ delivery, connections }, { workersAtStart }) => {
    const { batches = [] } = delivery ?? {};
    const disagreeing = membersDisagree(batches, connections);
    const [first] = disagreeing;
    if (!first) return undefined;
    const more = isShort(first) ? 'fewer' : 'more';
    const hasAgreed = first !== batches[0];
    const since = hasAgreed ? ', and as many before' : '';
    return {
      message: `in ${disagreeing.length} of ${batches.length} broadcasts the server counted ${more} members than the generator: ${first.serverMembers} and ${first.expected} in broadcast ${first.seq}${since}`,
      values: findingValues({
        'broadcasts with other members': disagreeing.length,
        broadcasts: batches.length,
        'members by the server': first.serverMembers,
        'members by the generator': first.expected,
      }),
      fix: isShort(first)
        ? disagreeing.every(({ received, expected }) => received === expected)
          ? 'every member that the generator counts received them: find why the server counts fewer'
          : whyFewer(workersAtStart.length > 1, hasAgreed)
        : 'others joined the room: give the run its own, which nothing else joins',
    };
  }),
];

/**
 * Explains why the server counted fewer members. Without an adapter, workers always count different members; a single
 * worker needs no adapter.
 */
function whyFewer(areSeveral: boolean, haveAgreed: boolean): string {
  const left = 'members left the room: does the server, or a flow, let them?';
  if (!areSeveral && !haveAgreed) return `the server acknowledges joins that it does not make, or ${left}`;
  if (!areSeveral) return left;
  return haveAgreed
    ? `${left} Or the adapter lost a worker: see the logs of the workers and of its broker, such as Redis, at that time`
    : `connect all workers by one adapter, which counts the members on each of them; or ${left}`;
}

/** Returns the longest time from the request of a broadcast to its send; undefined if a request was late. */
function longestCountMs(late: Measurements['sent']): number | undefined {
  const counts = late.flatMap(({ orderedAtUs = Number.POSITIVE_INFINITY, intendedAtUs, sentAtUs }) =>
    orderedAtUs < intendedAtUs ? [(sentAtUs - orderedAtUs) / 1000] : [],
  );
  return counts.length === late.length ? Math.max(...counts) : undefined;
}

function delayMs({ sentAtUs, intendedAtUs }: Measurements['sent'][number]): number {
  return (sentAtUs - intendedAtUs) / 1000;
}

/** Counts broadcasts. In a long run, one row contains several broadcasts. */
function howMany(sent: Measurements['sent']): number {
  return sum(sent.map(({ broadcasts = 1 }) => broadcasts));
}

function spanUs(timesUs: number[]): number {
  const [first = 0, ...others] = timesUs;
  const [low, high] = others.reduce(([low, high], us) => [Math.min(low, us), Math.max(high, us)], [first, first]);
  return high - low;
}

/**
 * Returns broadcasts for which the server counted a different number of members than expected, if connections that
 * opened or closed at the same time do not explain the difference.
 */
function membersDisagree(batches: BroadcastBatch[], connections: Result['connections']): BroadcastBatch[] {
  const ended = endedOf(connections);
  return batches.filter(
    (batch, index) =>
      isShort(batch) || excessOf(batch) > (exceeds(batches[index - 1]) || exceeds(batches[index + 1]) ? 0 : ended),
  );
}

/**
 * Returns whether the server counted too few members. The server does not count connections that it has already closed,
 * even if the run has not noticed the close yet; such connections may still get the copy late. A connection that joins
 * or reconnects between the count and the send gets a copy without being counted.
 */
function isShort(batch: BroadcastBatch): boolean {
  const { serverMembers, expected, unexpected, resent, lostDisconnected, justJoined } = batch;
  const least = expected - unexpected - resent - lostDisconnected - (justJoined ?? 0);
  return serverMembers !== null && serverMembers < least;
}

/**
 * Returns how many more members the server counted than expected. A join that is not yet acknowledged is already
 * counted, and its copy may be in `unexpected`. Connections that closed just before or after the count may be counted,
 * too.
 */
function excessOf({ justLeft, ...batch }: BroadcastBatch): number {
  return Math.max(0, surplusOf(batch) - (justLeft ?? 0));
}

function surplusOf({ serverMembers, expected, unexpected }: Omit<BroadcastBatch, 'justLeft'>): number {
  return serverMembers === null ? 0 : Math.max(0, serverMembers - expected - unexpected);
}

function exceeds(batch: BroadcastBatch | undefined): boolean {
  return batch !== undefined && surplusOf(batch) > 0;
}

/**
 * Returns the number of closed connections that the server may notice later than the run, but before its next count.
 * After the last broadcast, another check compares all connections (WORKERS_DISAGREE).
 */
function endedOf({ disconnects, reconnection }: Result['connections']): number {
  return sum(Object.values(disconnects)) + (reconnection?.dropped ?? 0);
}
