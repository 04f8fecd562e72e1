/**
 * Detects server processes that no adapter connects: a message reaches only the connections of the process that sends
 * it.
 */
import type { BroadcastBatch } from '../../../../protocol/result/delivery-schema.ts';
import { findingValues } from '../../../../protocol/result/findings.ts';
import { countText, decimalsText, integerText } from '../../../../report/text/format.ts';
import {
  audienceInterruption,
  type ReceiverGroup,
  sameAudience,
  separateGroups,
} from '../../../result/delivery/audience.ts';
import { sum } from '../../../result/sums.ts';
import type { Measurements } from '../../../run/measurements/measurements.ts';
import { defineCheckUnless, type FindingCheck, type RunFigures } from '../../check.ts';

type Judged = Pick<RunFigures, 'delivery' | 'processes'>;

export const adapterChecks: FindingCheck[] = [
  defineCheckUnless('abort', 'ADAPTER_MISSING', (result, measurements) => {
    const servers = serverCount(result, measurements);
    const reached = reachedConnectionsText(result, measurements);
    if (reached === undefined) return undefined;
    const subscribed = subscribedOf(result);
    return {
      values: findingValues({ ...audienceValues(result, measurements), processes: servers, ...subscribed }),
      message: `each message reaches only the process of its sender: ${reached}${subscribedText(subscribed)}`,
      fix: `give the ${servers} processes an adapter, such as Redis or the cluster adapter; if each has one, let all use the same Redis, the same key or prefix, and the same channel; if the server sends to rooms, name these in \`delivery.audience\``,
      window: 'broadcasts',
    };
  }),
  defineCheckUnless('abort', 'ADAPTER_INTERRUPTED', (result, measurements) => {
    const found = audienceInterruption(measurements, result.delivery?.batches ?? []);
    const [first] = found?.same ?? [];
    const servers = serverCount(result, measurements);
    // A server with one process needs no adapter.
    if (!found || !first || servers === 1) return undefined;
    const { during, same, whole } = found;
    const reached =
      (servers > 1 && processOf(first, servers, measurements)) ||
      `the same ${integerText(first.received)} of ${integerText(first.expected)} connections`;
    const times = during.flatMap(({ t }) => t ?? []);
    const when =
      times.length > 0 && `from ${decimalsText(Math.min(...times), 1)} to ${decimalsText(Math.max(...times), 1)} s, `;
    return {
      values: [
        ...findingValues({
          ...{ 'broadcasts to the same connections': same.length, 'broadcasts meanwhile': during.length },
          ...{ 'connections reached': first.received, connections: first.expected },
          'complete broadcasts before or after': whole.length,
          ...(servers > 1 && { processes: servers }),
        }),
        ...findingValues({ 'first incomplete broadcast': times[0], 'last incomplete broadcast': times.at(-1) }, 's'),
      ],
      message: `${when || ''}${integerText(same.length)} of ${integerText(during.length)} broadcasts reached only ${reached}; ${countText(whole.length, 'other broadcast')} reached all: for that time, nothing connected the processes`,
      window: 'broadcasts',
    };
  }),
];

/**
 * Returns the numbers of subscriptions in Redis from the last sample of Redis. Empty without subscriptions, or if the
 * run does not read Redis.
 */
function subscribedOf({ samples }: RunFigures): Record<string, number> {
  const { channels = 0, patterns = 0 } = (samples.findLast(({ redisServer }) => redisServer)?.redisServer ??
    {}) as Record<string, number>;
  return channels + patterns > 0 ? { 'channels of Redis': channels, 'patterns of Redis': patterns } : {};
}

function subscribedText(subscribed: Record<string, number>): string {
  const [channels, patterns] = Object.values(subscribed);
  return channels === undefined || patterns === undefined
    ? ''
    : `; Redis has ${countText(channels, 'channel')} and ${countText(patterns, 'pattern')} with subscribers, so they may have adapters that do not fit`;
}

/**
 * Describes which connections the broadcasts reached, if each broadcast reached exactly the connections of one process;
 * undefined if there may be another cause.
 */
export function reachedConnectionsText(result: Judged, measurements: Measurements): string | undefined {
  const servers = serverCount(result, measurements);
  const batches = result.delivery?.batches ?? [];
  const groups = separateGroups(measurements, batches);
  if (groups.length >= 2)
    return groups.length <= servers
      ? `the broadcasts reached ${receiverGroupsText(groups)}, and none reached connections of two groups`
      : undefined;
  const same = sameAudience(measurements, batches);
  const [first] = same;
  if (!first || servers < 2 || batches.some((batch) => batch.received > 0 && !same.includes(batch))) return;
  const ofProcess = processOf(first, servers, measurements);
  return ofProcess && `${same.length} of ${batches.length} broadcasts reached ${ofProcess}`;
}

/**
 * Returns the number of connections that the broadcasts reached, as values of a finding: a value for each separate
 * group of connections, or one value if broadcasts reached the same connections each time.
 */
export function audienceValues({ delivery }: Judged, measurements: Measurements): Record<string, number> {
  const batches = delivery?.batches ?? [];
  const groups = separateGroups(measurements, batches);
  if (groups.length > 0)
    return Object.fromEntries(
      groups.map(({ connections }, index) => [`connections of group ${index + 1}`, connections]),
    );
  const [first, ...others] = sameAudience(measurements, batches);
  if (!first) return {};
  const { received, expected } = first;
  return {
    'broadcasts to the same connections': 1 + others.length,
    broadcasts: batches.length,
    'connections reached': received,
    connections: expected,
  };
}

/** Maximum number of the run's own connections that receive broadcasts, excluding publishers. */
const MAX_OWN = 3;
/**
 * Allowed relative difference from an equal share of the connections, because a proxy does not distribute connections
 * exactly.
 */
const TOLERANCE = 0.2;

/**
 * Describes the process whose connections a broadcast reached. If the number of connections of each process is unknown,
 * the broadcast must have reached about an equal share of all connections.
 */
function processOf(
  { received, expected }: BroadcastBatch,
  servers: number,
  { ownEvent }: Measurements,
): string | undefined {
  const reached = `the same ${integerText(received)} of ${integerText(expected)} connections`;
  const { holdings, publishers = 0 } = ownEvent ?? {};
  if (!holdings)
    return Math.abs((received * servers) / expected - 1) <= TOLERANCE
      ? `${reached}, one of ${servers} processes' share`
      : undefined;
  const own = publishers + MAX_OWN;
  const isAll = isWithin(sum(holdings.map(({ connections }) => connections)), expected, own);
  const holder = holdings.find(({ connections }) => isWithin(connections, received, own));
  return isAll && holder ? `${reached}, which process ${holder.pid} (${holder.command}) holds` : undefined;
}

const isWithin = (connections: number, least: number, more: number) =>
  connections >= least && connections <= least + more;

/** Returns a text such as `2 separate groups of connections (31, 29)`. */
export function receiverGroupsText(groups: ReceiverGroup[]): string {
  return `${groups.length} separate groups of connections (${groups.map(({ connections }) => integerText(connections)).join(', ')})`;
}

/**
 * Returns the maximum number of server processes that hold connections. Behind a proxy, all server processes may hold
 * connections.
 */
export function maxServerCount(result: Pick<RunFigures, 'processes'>, measurements: Measurements): number {
  const measured = result.processes?.measured.filter(({ layer, holds }) => layer === 'worker' && holds !== false);
  return Math.max(serverCount(result, measurements), measured?.length ?? 0);
}

/** Returns the number of server processes that hold connections; 0 if unknown. */
export function serverCount({ processes }: Pick<RunFigures, 'processes'>, measurements: Measurements): number {
  const { workersAtStart, ownEvent } = measurements;
  if (ownEvent?.holdings && ownEvent.holdings.length > 0) return ownEvent.holdings.length;
  const holders = processes?.measured.filter(({ layer, holds }) => layer === 'worker' && holds).length ?? 0;
  return Math.max(workersAtStart.length, holders);
}
