/** Checks events of the user's own server: whether they arrived, and whether their ids and times are as configured. */

import { FINDINGS } from '../../../../protocol/codes/finding-codes.ts';
import { findingValues } from '../../../../protocol/result/findings.ts';
import { countText, decimalsText, integerText } from '../../../../report/text/format.ts';
import {
  idsWithOneReceiver,
  reachesAllMembers,
  sameAudience,
  separateGroups,
} from '../../../result/delivery/audience.ts';
import type { Measurements } from '../../../run/measurements/measurements.ts';
import type { OwnEventMeasured } from '../../../run/measurements/own-event-measured.ts';
import type { ReceivedAck } from '../../../run/receivers/publishers.ts';
import { type CheckFinding, defineCheck, defineCheckUnless, type FindingCheck, type RunFigures } from '../../check.ts';
import { audienceValues, reachedConnectionsText, receiverGroupsText, serverCount } from './adapter-checks.ts';

type Find = (
  own: OwnEventMeasured,
  delivery: NonNullable<RunFigures['delivery']>,
  measurements: Measurements,
  result: RunFigures,
) => CheckFinding;

export const ownEventChecks: FindingCheck[] = [
  defineCheck('EVENT_COUNTS_DIFFER', ({ eventCounts }, { eventCounts: { counters = {} } = {} }) =>
    eventCounts
      .filter(({ event, most, missingAtLeast }) => most === 0 || missingAtLeast > 0 || counters[event] === null)
      .map(({ event, receivers, sent, most, fewest, missingAtLeast }) => ({
        message:
          most === 0
            ? `no copy of \`${event}\` came to any of ${countText(receivers, 'connection')}`
            : counters[event] === null && missingAtLeast === 0
              ? `the copies of \`${event}\` have nothing to be compared with: no page of \`workers.prometheus\` or \`workers.json\` has its \`counter\``
              : `${countText(receivers, 'connection')} got ${integerText(fewest)} to ${integerText(most)} copies of \`${event}\`${sent === null ? '' : `, of ${countText(sent, 'message')}`}: at least ${integerText(missingAtLeast)} are missing, if it is meant for all`,
        ...(most === 0 && { fix: 'check the event’s name, and what a client must do to receive it' }),
        values: findingValues({
          ...{ 'connections counted': receivers, 'most copies': most },
          ...{ 'fewest copies': fewest, 'missing copies': missingAtLeast },
        }),
      })),
  ),
  checkOwn('DELIVERY_EVENT_MISSING', (own, { received, unexpected, frames, batches }, { sent, unsent }) => {
    const isNoneSent = sent.length === 0 && unsent.length > 0;
    if (received + unexpected > 0 || isNoneSent) return undefined;
    const { event, published, acknowledged = [], others, toPublisher = [] } = own;
    const ofOthers = frames ? `, and ${frames} copies that are not the run's` : '';
    const heard =
      others &&
      (others.length > 0
        ? `; before the load, a client of the run that listened received ${others.join(', ')} instead`
        : '; before the load, a client of the run that listened received no event at all');
    const told = toPublisher.filter((one) => one.event !== event && !others?.includes(one.event));
    const missing = `no client received any \`${event}\`${ofOthers}${heard ?? ''}`;
    const answers = answersText(acknowledged, published);
    if (answers === undefined && told.length > 0) {
      return {
        message: `the server answered the publisher with ${told.map((one) => `${one.event} ${one.text}`.trim()).join(', ')}; ${missing}`,
        fix: 'if that is a refusal, give the publisher what the server asks for; if not, see to whom the server sends the event',
      };
    }
    const members = Math.max(0, ...batches.map(({ expected }) => expected));
    if (answers === undefined && own.join !== undefined && members > 0)
      return {
        message: `the server acknowledged \`${own.join}\` of ${countText(members, 'client')}, and ${missing}`,
        values: findingValues({
          'clients with an acknowledged join': members,
          'copies of others': frames || undefined,
        }),
        fix: `see whether the handler of \`${own.join}\` lets the client join (\`socket.join\`), before its acknowledgement and the same room to which the server sends \`${event}\``,
      };
    if (answers === undefined)
      return { message: missing, ...(frames && { values: findingValues({ 'copies of others': frames }) }) };
    return {
      values: findingValues({ 'published messages': published }),
      message: `the server acknowledged ${answers}; ${missing}`,
      fix: 'if the acknowledgement is a refusal, give the publisher what the server asks for; if not, see to whom the server sends the event',
    };
  }),
  checkOwn('PUBLISHES_UNACKNOWLEDGED', ({ unacknowledged }) => {
    if (!unacknowledged || unacknowledged.missing === 0) return undefined;
    const { asked, missing, isExpected } = unacknowledged;
    // Most handlers take no callback, so missing acknowledgements are only a problem with `acknowledge: true`.
    if (missing === asked && !isExpected) return undefined;
    return {
      message: `${integerText(missing)} of ${countText(asked, 'published message')} were not acknowledged before the end of the drain`,
      values: findingValues({ 'unacknowledged messages': missing, 'published messages': asked }),
    };
  }),
  checkOwn('BROADCASTS_NOT_SENT', ({ published, seen, givesIds }, { received, unexpected }) => {
    if (received + unexpected === 0 || givesIds || seen >= published) return undefined;
    return {
      message: `${published - seen} of ${published} published messages never arrived anywhere, or share an id with another`,
      values: findingValues({ 'messages that did not arrive': published - seen, 'published messages': published }),
      fix: "see the server log; let the ids be the run's own: `$id` in `publish.emit`",
    };
  }),
  checkOwn('IDS_NOT_SHARED', ({ event, idPath }, { batches }, measurements) => {
    const ids = idsWithOneReceiver(measurements, batches);
    return (
      ids && {
        message: `${ids.single} of ${ids.of} ids at ${idPath} of \`${event}\` came to one connection only`,
        values: findingValues({ 'ids at one connection': ids.single, ids: ids.of }),
      }
    );
  }),
  checkOwn('IDS_CHANGED', ({ givesIds }, { lostConnected, duplicates, ...delivery }) => {
    const outside = delivery.outside ?? 0;
    if (!givesIds || lostConnected === 0 || duplicates + outside !== lostConnected) return undefined;
    const parts = [
      ...(duplicates > 0 ? [`${integerText(duplicates)} came with the id of another broadcast`] : []),
      ...(outside > 0 ? [`${integerText(outside)} with an id that the run did not send`] : []),
    ];
    const identity =
      parts.length > 1 ? ` (${integerText(duplicates)} + ${integerText(outside)} = ${integerText(lostConnected)})` : '';
    return {
      message: `the server changes ids: ${integerText(lostConnected)} copies are missing, and ${parts.join(' and ')}${identity}`,
      values: findingValues({
        'missing copies': lostConnected,
        'copies with the id of another': duplicates,
        'copies with an unknown id': outside,
      }),
      window: 'broadcasts',
    };
  }),
  checkOwn('JOINS_LATE', (_, delivery) => {
    const { losses } = delivery;
    if (!losses?.started || !joinsAreLate(delivery)) return undefined;
    const { connections, fromSeconds, toSeconds } = losses.started;
    const [from, to] = [fromSeconds, toSeconds].map((seconds) => decimalsText(seconds, 1));
    const rest =
      losses.receivedNone > 0
        ? `; ${integerText(losses.receivedNone)} others had not been connected for that long`
        : '';
    return {
      message: `${integerText(connections)} of ${integerText(losses.members)} connections got each broadcast from ${from === to ? to : `${from} to ${to}`} s after their join or connect on, and none before: their join is late${rest}`,
      values: [
        ...findingValues({
          'connections that joined late': connections,
          members: losses.members,
          ...(losses.receivedNone > 0 && { 'connections that received none': losses.receivedNone }),
        }),
        ...findingValues(
          { 'shortest time to the first copy': fromSeconds, 'longest time to the first copy': toSeconds },
          's',
        ),
      ],
      window: 'broadcasts',
    };
  }),
  checkOwn('AUDIENCE_DIFFERS', (_, delivery, measurements, result) => {
    const { batches } = delivery;
    if (joinsAreLate(delivery) || reachesAllMembers(batches) || reachedConnectionsText(result, measurements))
      return undefined;
    // If each copy has a different id, the ids do not show which connections received a broadcast.
    if (idsWithOneReceiver(measurements, batches)) return undefined;
    const groups = separateGroups(measurements, batches);
    if (groups.length > 0)
      return {
        values: findingValues(audienceValues(result, measurements)),
        message: `each broadcast reached one of ${receiverGroupsText(groups)}, and no others`,
        fix: 'name the rooms that the server sends to in `delivery.audience`; if it has several processes, give them an adapter',
      };
    const broadcasts = sameAudience(measurements, batches);
    const [first] = broadcasts;
    if (!first) return undefined;
    const mayLackAdapter = serverCount(result, measurements) === 0;
    return {
      values: findingValues(audienceValues(result, measurements)),
      message: `${broadcasts.length} of ${batches.length} broadcasts reached the same ${first.received} of ${first.expected} connections, and no others`,
      ...(mayLackAdapter && {
        fix: `${FINDINGS.AUDIENCE_DIFFERS.remedy}; if it has several processes, give them an adapter`,
      }),
    };
  }),
  checkOwn('SENT_AT_UNUSABLE', ({ sentAtUnusable, untimed }) => {
    if (sentAtUnusable === undefined) return undefined;
    const lost = untimed > 0 ? `, and ${untimed} broadcasts are in no latency` : '';
    return {
      values: untimed > 0 ? findingValues({ 'broadcasts without latency': untimed }) : [],
      message: `the times at \`delivery.sentAt\` are not used${lost}: ${sentAtUnusable}`,
    };
  }),
  checkOwn('IDS_NOT_COUNTED', ({ event, skipped, seen, published, idPath, idsBeside }) => {
    if (skipped > 0)
      return {
        message: `${skipped} of ${seen} broadcasts came while the ledger was full; their copies are in \`outside\``,
        values: findingValues({ 'broadcasts not counted': skipped, broadcasts: seen }),
      };
    if (idsBeside === undefined || seen >= published) return undefined;
    return {
      message: `copies of \`${event}\` have more ids at ${idsBeside} than the one at ${idPath}; ${published - seen} of ${published} published messages were not found there`,
      values: findingValues({ 'messages not found': published - seen, 'published messages': published }),
      fix: `write \`id: ${idsBeside}\` in \`delivery\``,
    };
  }),
];

/**
 * Minimum number of different receiver counts among the broadcasts that indicates late joins. A single reconnection
 * causes fewer.
 */
const MIN_STEPS = 3;
/**
 * Maximum difference between the connections' times from the join to the first copy, as a share. Some intervals between
 * broadcasts are allowed in addition.
 */
const MAX_SPREAD = 0.25;

/**
 * Returns whether all connections with losses lost only the first broadcasts after their join, for about the same time.
 */
function joinsAreLate({ losses, batches }: NonNullable<RunFigures['delivery']>): boolean {
  if (!losses?.started) return false;
  const { connections, fromSeconds, toSeconds, unstartedSeconds } = losses.started;
  const times = batches.flatMap(({ t }) => t ?? []);
  const interval = times.length > 1 ? (Math.max(...times) - Math.min(...times)) / (times.length - 1) : 0;
  const steps = new Set(batches.filter((one) => one.lostConnected > 0).map(({ received }) => received)).size;
  return (
    steps >= MIN_STEPS &&
    connections + losses.receivedNone === losses.losers &&
    toSeconds - fromSeconds <= MAX_SPREAD * toSeconds + 2 * interval &&
    unstartedSeconds <= toSeconds
  );
}

/** Returns a text such as `each of 8 published messages with {"error":"…"}`; undefined without acknowledgements. */
function answersText(acknowledged: readonly ReceivedAck[], published: number): string | undefined {
  const [first, ...others] = acknowledged;
  if (!first) return undefined;
  if (first.count === published) return `each of ${published} published messages with ${first.text}`;
  const further = others.map(({ text, count }) => `, ${count} with ${text}`).join('');
  return `${first.count} of ${published} published messages with ${first.text}${further}`;
}

/** Returns a check for runs that counted an event of the user's own server and did not end early. */
function checkOwn(code: FindingCheck['code'], find: Find): FindingCheck {
  return defineCheckUnless('abort', code, (result, measurements) =>
    measurements.ownEvent && result.delivery
      ? find(measurements.ownEvent, result.delivery, measurements, result)
      : undefined,
  );
}
