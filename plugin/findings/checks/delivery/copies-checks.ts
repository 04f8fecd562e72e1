/** Checks the copies of broadcasts: none may be lost or duplicated, and some columns of the ledger must be empty. */
import type { BroadcastBatch } from '../../../../protocol/result/delivery-schema.ts';
import { findingValues } from '../../../../protocol/result/findings.ts';
import type { Result } from '../../../../protocol/result/result.ts';
import { numberText } from '../../../../report/model/amount.ts';
import { countText, decimalsText, integerText, percentOf } from '../../../../report/text/format.ts';
import { sum } from '../../../result/sums.ts';
import { type CheckFinding, defineCheck, type FindingCheck, type FindingDetail } from '../../check.ts';
import { serverCount } from './adapter-checks.ts';

type Column = 'late' | 'notMember' | 'unknownBroadcast' | 'unreadable' | 'wrongSize' | 'wrongContent';

/**
 * Columns of the ledger that must be empty. `isOthers`: whether another publisher in the same room explains the copies.
 */
const WRONG: { columns: Column[]; what: string; fix: string; isOthers?: true }[] = [
  {
    columns: ['late'],
    what: 'came after the drain',
    fix: 'raise `drain.quiet` and `drain.deadline`; with an event of the server itself, check that ids do not repeat',
  },
  {
    columns: ['notMember'],
    isOthers: true,
    what: 'came to connections outside of the room',
    fix: 'let the server send broadcasts to the room only, the flow join it by `join_room`, and the acknowledgement name it',
  },
  {
    columns: ['unknownBroadcast'],
    isOthers: true,
    what: 'have a number that the run did not send',
    fix: 'give the run its own room, which no other run or publisher uses',
  },
  {
    columns: ['unreadable'],
    isOthers: true,
    what: 'have no payload of a broadcast',
    fix: 'let the server use the event of the broadcasts for nothing else, or correct `delivery.id`',
  },
  {
    columns: ['wrongSize', 'wrongContent'],
    what: 'have a payload that changed on the way, and count as lost',
    fix: 'see what changes messages between server and generator, or whether another publisher uses this room',
  },
];

export const copiesChecks: FindingCheck[] = [
  defineCheck('COPIES_LOST', (result) => lost(result)),
  defineCheck('COPIES_DUPLICATED', (result, measurements) => {
    const { delivery } = result;
    const { ownEvent } = measurements;
    if (!delivery || delivery.duplicates === 0) return undefined;
    const { duplicates, received, batches } = delivery;
    const all = sum(batches.map(({ broadcasts }) => broadcasts));
    const repeated = sum(batches.map((batch) => (batch.duplicates > 0 ? batch.broadcasts : 0)));
    const values = findingValues({ duplicates, received, broadcasts: all, 'repeated broadcasts': repeated });
    // Broadcasts with the same id are counted as copies of one broadcast.
    if (ownEvent && ownEvent.seen < ownEvent.published) return { message: repeatedText(delivery), values };
    const detail = duplicated(delivery, serverCount(result, measurements), ownEvent?.givesIds === true);
    return { ...detail, values: [...values, ...(detail.values ?? [])] };
  }),
  ...WRONG.map(({ columns, what, fix, isOthers }) =>
    defineCheck('WRONG_COPIES', ({ delivery }, { ownEvent }) => {
      const count = delivery ? sum(columns.map((column) => delivery[column] ?? 0)) : 0;
      if (count === 0) return undefined;
      const isUnreadable = columns.includes('unreadable') && ownEvent;
      const example = isUnreadable
        ? `: nothing at ${ownEvent.idPath} in ${ownEvent.example ?? 'what is not JSON'}`
        : '';
      const values = findingValues({ [`copies that ${what}`]: count });
      return {
        message: `${count} copies ${what}${example}`,
        values,
        fix,
        ...(isOthers && { about: 'measurement' as const }),
      };
    }),
  ),
];

/** Returns the number of lost copies. Copies that a planned fault lost are a result of the fault and not a problem. */
function lost({ delivery, fault, processes }: Pick<Result, 'delivery' | 'fault' | 'processes'>): CheckFinding {
  if (!delivery || delivery.coverage === null) return undefined;
  const { received, expected, broadcasts, lostConnected, lostDisconnected } = delivery;
  const missing = expected - received - (fault?.broadcasts?.lost ?? 0);
  if (missing <= 0) return undefined;
  const where = `${integerText(lostConnected)} to connections that stayed open, ${integerText(lostDisconnected)} to lost ones`;
  const fix = fixOf(delivery, processes);
  const period = periodOf(delivery.batches);
  return {
    message: `${percentOf(received, expected)} of the copies of ${integerText(broadcasts)} broadcasts delivered: ${integerText(missing)} lost, ${where}${patternOf(delivery)}`,
    ...(fix !== undefined && { fix }),
    window: 'broadcasts',
    values: [
      ...findingValues({
        'lost copies': missing,
        'on connections that stayed open': lostConnected,
        'on lost connections': lostDisconnected,
        broadcasts,
        'incomplete broadcasts': sum(incompleteOf(delivery).map((batch) => batch.broadcasts)),
        ...spreadOf(delivery.losses),
      }),
      ...findingValues({ 'first incomplete broadcast': period?.from, 'last incomplete broadcast': period?.to }, 's'),
      ...findingValues({ 'delivered copies': (100 * received) / expected, ...sharesOf(incompleteOf(delivery)) }, '%'),
    ],
  };
}

type Delivery = NonNullable<Result['delivery']>;

function spreadOf(losses: Delivery['losses']): Record<string, number> {
  if (!losses) return {};
  const { members, losers, receivedNone, fewest, median, most, broadcasts } = losses;
  return {
    members,
    'connections that lost copies': losers,
    'connections that received none': receivedNone,
    'connections that lost some': losers - receivedNone,
    'copies lost per other connection (fewest)': fewest,
    'copies lost per other connection (median)': median,
    'copies lost per other connection (most)': most,
    'broadcasts with known losers': broadcasts,
  };
}

/**
 * Describes how the lost copies are distributed: a few copies of each connection, or all copies of some connections.
 */
function spreadText(losses: Delivery['losses']): string {
  if (!losses) return '';
  const { members, losers, receivedNone, fewest, median, most, broadcasts } = losses;
  const others = losers - receivedNone;
  const range =
    fewest === most
      ? integerText(most)
      : `${integerText(fewest)} to ${integerText(most)} (median ${integerText(median)})`;
  const who = others === members ? 'each of' : `${integerText(others)} of`;
  const deaf = `${integerText(receivedNone)} of ${integerText(members)} connections received none of ${integerText(broadcasts)}`;
  const some = `${who} ${integerText(members)} connections lost ${range} of ${integerText(broadcasts)}`;
  return `; ${[receivedNone > 0 && deaf, others > 0 && some].filter(Boolean).join(', ')}`;
}

const incompleteOf = ({ batches }: Pick<Delivery, 'batches'>) => batches.filter((batch) => batch.lostConnected > 0);

/**
 * Returns the lowest and the highest percentage of received copies among the incomplete broadcasts, as values of a
 * finding.
 */
function sharesOf(incomplete: BroadcastBatch[]): Record<string, number> {
  const shares = incomplete.map((batch) => (100 * batch.received) / batch.expected);
  if (shares.length === 0) return {};
  return { 'smallest share of an incomplete broadcast': Math.min(...shares), 'largest share': Math.max(...shares) };
}

/** Describes which broadcasts are incomplete, and how many copies and connections were affected. */
function patternOf({ batches, losses, received, lostConnected }: Delivery): string {
  const incomplete = incompleteOf({ batches });
  if (received === 0 || lostConnected === 0 || batches.length < MIN_BROADCASTS) return '';
  const counts = [incomplete, batches].map((rows) => integerText(sum(rows.map(({ broadcasts }) => broadcasts))));
  if (incomplete.every((batch) => batch.received === 0))
    return `; no connection received ${counts.join(' of ')} broadcasts`;
  const [low, high] = Object.values(sharesOf(incomplete)).map((percent) => shareText(percent / 100));
  return `; ${counts.join(' of ')} broadcasts are incomplete${periodText(batches)}, each received by ${low === high ? '' : `${low} to `}${high} % of its members${spreadText(losses)}`;
}

/**
 * Returns the send times of the first and the last incomplete broadcast, if all broadcasts between them are incomplete
 * and at least one other broadcast is complete.
 */
function periodOf(batches: BroadcastBatch[]): { from: number; to: number } | undefined {
  const isIncomplete = (batch: BroadcastBatch) => batch.lostConnected > 0;
  const during = batches.slice(batches.findIndex(isIncomplete), batches.findLastIndex(isIncomplete) + 1);
  const [from, to] = [during[0]?.t, during.at(-1)?.t];
  const isPeriod = during.length > 1 && during.length < batches.length && during.every(isIncomplete);
  return isPeriod && from != null && to != null ? { from, to } : undefined;
}

function periodText(batches: BroadcastBatch[]): string {
  const period = periodOf(batches);
  return period ? ` (all from ${decimalsText(period.from, 1)} to ${decimalsText(period.to, 1)} s)` : '';
}

/** Formats a share in percent without rounding it to 0 or 100 %. */
function shareText(share: number): string {
  const percent = Math.round(100 * share);
  return percent === 0 || percent === 100 ? numberText('share', share) : integerText(percent);
}

/** Returns the suggested fix if the run shows which part of the deployment lost the copies; otherwise undefined. */
function fixOf({ losses, batches }: Delivery, processes: Result['processes']): string | undefined {
  const { members = 0, losers = 0, receivedNone = 0 } = losses ?? {};
  const areDeaf = receivedNone > 0 && receivedNone === losers && losers < members && batches.length >= MIN_BROADCASTS;
  const deaf = areDeaf
    ? 'some connections received nothing and the others everything: see why the server does not have these in the room (a join that fails or comes later than its acknowledgement, another namespace)'
    : undefined;
  const [only, ...others] = processes?.measured ?? [];
  const isDirect = only?.layer === 'worker' && processes?.port != null && only.ports?.includes(processes.port);
  if (!isDirect || others.length > 0)
    return deaf && `${deaf}, or whether their worker hears the other workers (adapter)`;
  const handler = 'one process serves all clients, without a proxy or an adapter';
  return deaf
    ? `${handler}; ${deaf}`
    : `${handler}: see how its handler selects receivers (a room, a filter, \`volatile\`), and its log`;
}

function repeatedText({ duplicates, received }: Delivery): string {
  return `${integerText(duplicates)} copies came twice, beside ${integerText(received)} first ones`;
}

/** Minimum number of broadcasts with the same pattern of duplicates that allows an explanation. */
const MIN_BROADCASTS = 3;
const TIMES = ['', 'once', 'twice', 'three times', 'four times'];

/**
 * Explains duplicates by their distribution. If the server emits a broadcast twice, each copy arrives twice. If another
 * publisher sends to the room, additional broadcasts arrive.
 * @param processes number of server processes that hold connections; 0 if unknown
 * @param hasOwnIds whether the run chose the ids, so that no other publisher sends them
 */
function duplicated(delivery: Delivery, processes: number, hasOwnIds: boolean): FindingDetail {
  const { unknownBroadcast, notMember, batches } = delivery;
  const repeated = batches.filter((batch) => batch.duplicates > 0);
  const [first] = repeated;
  const copiesOf = (batch: BroadcastBatch) => batch.received + batch.unexpected + batch.notMember;
  const more = first && copiesOf(first) > 0 ? first.duplicates / copiesOf(first) : 0;
  const isWhole = (batch: BroadcastBatch) => batch.duplicates === more * copiesOf(batch);
  if (!Number.isInteger(more) || more === 0 || (unknownBroadcast ?? 0) + notMember > 0 || !repeated.every(isWhole))
    return hasOwnIds ? repeatedToSome(delivery, processes) : { message: repeatedText(delivery) };
  const values = findingValues({ 'copies to each receiver': more + 1, ...(processes > 0 && { processes }) });
  const times = TIMES[more + 1] ?? `${more + 1} times`;
  const all = sum(batches.map(({ broadcasts }) => broadcasts));
  const some = sum(repeated.map(({ broadcasts }) => broadcasts));
  if (repeated.length < batches.length)
    return {
      values,
      message: `${integerText(some)} of ${integerText(all)} broadcasts came ${times}, to each of their receivers: the server emits these again`,
      fix: 'find what emits a message again: a retry, a queue or broker that delivers at least once, or a second handler',
      about: 'application',
    };
  const ofEach = processes === more + 1 ? `, or each of its ${processes} processes emits it` : '';
  return {
    values,
    message: `every copy of ${countText(all, 'broadcast')} arrived ${times} at every connection: the server emits ${times}${ofEach}`,
    fix: `emit each message once: look for a second \`emit\` in the handler, a handler that is registered twice, or an emit for each of several rooms that connections share${processes === more + 1 ? '; only one process may emit what an adapter gives to all' : ''}`,
    about: 'application',
  };
}

/** Describes duplicates of broadcasts whose ids the run chose. Only the server itself can have emitted them again. */
function repeatedToSome(delivery: Delivery, processes: number): FindingDetail {
  const { batches } = delivery;
  const [first] = batches;
  const isSame =
    batches.length >= MIN_BROADCASTS &&
    batches.every(({ duplicates, received }) => duplicates === first?.duplicates && received === first?.received);
  const isOfSome = isSame && first && first.duplicates < first.received;
  const message = isOfSome
    ? `${integerText(first.duplicates)} of ${countText(first.received, 'client')} got every copy twice: the server emits twice to them`
    : `${repeatedText(delivery)}, of the run's own ids: the server emits these again`;
  const adapter = processes === 1 ? '' : ', or several processes that emit the same';
  return {
    message,
    ...(isOfSome && {
      values: findingValues({ clients: first.received, 'clients with repeated copies': first.duplicates }),
    }),
    fix: `emit each message once: look for a second \`emit\` to a room that only some clients are in${adapter}`,
    about: 'application',
  };
}
