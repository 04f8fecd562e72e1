/**
 * Describes why connections closed: through the application itself, because of a message that was too large, or with a
 * close code.
 */
import { closeCodeOf } from '../../../../protocol/codes/close-codes.ts';
import { findingValues } from '../../../../protocol/result/findings.ts';
import { decimalsText, integerText, totalOfCounts } from '../../../../report/text/format.ts';
import { sum } from '../../../result/sums.ts';
import {
  closeCodeText,
  httpStatus,
  isTooLarge,
  lastEventText,
  SERVER_DISCONNECT_REASON,
  tooLargeSizes,
} from '../../../run/measurements/close-descriptions.ts';
import type { CloseRow } from '../../../run/measurements/close-rows.ts';
import { defineCheck, type FindingCheck, type FindingDetail, type RunFigures } from '../../check.ts';

type Range = CloseRow['sent'];

/**
 * Minimum number of closed connections for a common age or message count. With fewer connections, equal values may be
 * chance.
 */
const MIN_ENDED = 5;
/**
 * Maximum difference between the ages of connections that a timer closed, as a share of the higher age, and in seconds.
 */
const MAX_SPREAD = { share: 0.05, seconds: 0.1 };
/**
 * Share of the closed connections that must have the same age. The other connections may have closed for rare reasons.
 */
const NEARLY_ALL = 0.9;

export const closesChecks: FindingCheck[] = [
  defineCheck('MESSAGES_TOO_LARGE', ({ connections }) => {
    const found = closedByTooLargeMessage(connections.ends);
    const [first] = found;
    if (!first) return undefined;
    const { largestSentBytes: sent, maxPayloadBytes: taken } = first;
    const codes = [...new Set(found.map(({ cause }) => closeCodeOf(cause)?.code ?? httpStatus(cause)))].filter(Boolean);
    const how = codes.length > 0 ? `closed with ${codes.join(' and ')}` : 'closed after a message that is too large';
    const count = countOf(found);
    const { text, fix } = tooLargeSizes(first);
    return {
      message: `${count} of ${connections.opened} were ${how}: ${text}`,
      fix,
      values: [
        ...findingValues({ 'closed connections': count }),
        ...findingValues({ 'largest message': sent.high, maxPayload: taken }, 'bytes'),
      ],
    };
  }),
];

/** Returns the connections that closed because of a message that the client sent. */
export function closedByTooLargeMessage(all: readonly CloseRow[]): CloseRow[] {
  return all.filter(isTooLarge);
}

const FEWER_MESSAGES =
  'send fewer messages in the flow, or raise the number of messages after which the server closes a connection';
const AT_ONE_MOMENT =
  'find what closes all connections at one moment: a deploy, maintenance, or a call such as `io.disconnectSockets()` or `io.close()`';

/**
 * Describes the connections that the application closed, with their common age or message count.
 * @param of number of all closed connections
 */
export function closedByApplication({ connections }: RunFigures, count: number, of: number): FindingDetail {
  const rows = connections.ends.filter(({ reason }) => reason === SERVER_DISCONNECT_REASON);
  const said = rows[0] ? lastEventText(rows[0]) : '';
  const values = [...findingValues({ 'connections closed by the application': count }), ...commonValues(rows)];
  const message = `the application itself closed ${count} of ${of} connections`;
  const moment = sameMoment(connections);
  if (moment)
    return {
      ...{ about: 'application', fix: AT_ONE_MOMENT },
      values: [
        ...values,
        ...findingValues({ 'time of the first close': moment.low, 'time of the last close': moment.high }, 's'),
      ],
      message: `${message}, all of them from ${ageRangeText(moment)} of the run, ${ageRangeText(ageOf(rows))} after they had connected${said}`,
    };
  if ((sameCount(rows) ?? 0) >= MIN_COUNTED && !commonCloseAge(rows))
    return { about: 'application', values, message: `${message}${commonTo(rows)}${said}`, fix: FEWER_MESSAGES };
  return {
    ...{ about: 'application', values },
    message: `${message}${commonTo(rows)}${said}`,
    fix: 'see why the application calls `disconnect()`: let the flow do what it wants of its clients, such as a heartbeat, a login or fewer messages, or raise that limit',
  };
}

/**
 * Returns a text such as `, after 2.9 to 3.0 s` or `, after 21 messages each`, if all connections have the age or the
 * message count in common.
 */
function commonTo(rows: readonly CloseRow[]): string {
  if (countOf(rows) < MIN_ENDED) return '';
  const age = commonCloseAge(rows);
  const sent = sameCount(rows);
  const received = spanOf(rows.map((row) => row.received));
  const isReceived = sent === undefined && received.low === received.high && received.high > 2;
  const texts = [
    ...(sent === undefined ? [] : [messagesEach(sent)]),
    ...(isReceived && !age ? [`${integerText(received.high)} events each`] : []),
    ...(age || !(sent !== undefined || isReceived) ? [ageRangeText(age ?? ageOf(rows))] : []),
  ];
  return `, after ${texts.join(' and ')}`;
}

const messagesEach = (count: number) => `${integerText(count)} messages each`;

/**
 * Returns the number of messages that each of the connections had sent; undefined if the numbers differ, or for few
 * connections.
 */
function sameCount(rows: readonly CloseRow[]): number | undefined {
  const { low, high } = spanOf(rows.map(({ sent }) => sent));
  return countOf(rows) >= MIN_ENDED && low === high && high > 1 ? high : undefined;
}

/**
 * Returns the period in which all lost connections closed, if the period is short and the ages of the connections
 * differed; otherwise undefined.
 */
function sameMoment({ overTime, ends, lost }: RunFigures['connections']): Range | undefined {
  if (!overTime || countOf(ends) < MIN_ENDED) return undefined;
  const { ended, t, intervalSeconds } = overTime;
  const first = ended.findIndex((count) => count > 0);
  const last = ended.findLastIndex((count) => count > 0);
  const ages = ageOf(ends);
  const isShort = first >= 0 && last - first <= 1 && sum(ended) >= totalOfCounts(lost);
  const moment = { low: t[first] ?? 0, high: (t[last] ?? 0) + intervalSeconds };
  return isShort && ages.high - ages.low > 2 * (moment.high - moment.low) ? moment : undefined;
}

/** Returns whether the close code is in the range that applications may use for their own reasons. */
const isOfApplication = (code: number) => code === 1008 || code === 1013 || code >= 3000;

/** Minimum number of messages per connection that indicates a limit. Fewer messages may be all that the flow sends. */
const MIN_COUNTED = 5;

/**
 * Returns a text such as `, after 16 messages each`, with a fix, if the application closed connections after a fixed
 * number of messages.
 */
export function closedAfterCount({
  connections,
}: RunFigures): Pick<FindingDetail, 'message' | 'values' | 'fix'> | undefined {
  const rows = connections.ends.filter(({ reason }) => reason !== SERVER_DISCONNECT_REASON);
  const sent = sameCount(rows) ?? 0;
  const isMeant = rows.every(({ cause }) => isOfApplication(closeCodeOf(cause)?.code ?? 0)) && !sameMoment(connections);
  if (sent < MIN_COUNTED || !isMeant) return undefined;
  return {
    message: `, after ${messagesEach(sent)}`,
    values: findingValues({ 'messages before': sent }),
    fix: FEWER_MESSAGES,
  };
}

/** Returns the ranges of ages and message counts of the closed connections, as values of a finding. */
function commonValues(rows: readonly CloseRow[]): FindingDetail['values'] & object {
  if (rows.length === 0) return [];
  const [age, sent] = [ageOf(rows), spanOf(rows.map((row) => row.sent))];
  return [
    ...findingValues({ 'shortest connection': age.low, 'longest connection': age.high }, 's'),
    ...findingValues({ 'fewest sent messages': sent.low, 'most sent messages': sent.high }),
  ];
}

/** Returns the age at which nearly all connections closed; undefined if ages differ, or if few connections closed. */
export function commonCloseAge(rows: readonly CloseRow[]): Range | undefined {
  const all = countOf(rows);
  const usual = rows
    .toSorted((a, b) => b.count - a.count)
    .filter((_, index, sorted) => countOf(sorted.slice(0, index)) < NEARLY_ALL * all);
  if (all < MIN_ENDED) return undefined;
  const age = ageOf(usual);
  return age.high - age.low <= Math.max(MAX_SPREAD.share * age.high, MAX_SPREAD.seconds) ? age : undefined;
}

const countOf = (rows: readonly CloseRow[]) => sum(rows.map(({ count }) => count));
const ageOf = (rows: readonly CloseRow[]) => spanOf(rows.map(({ ageSeconds }) => ageSeconds));

/** Formats a range of seconds, such as `3.0 s` or `2.9 to 3.0 s`. */
export function ageRangeText({ low, high }: Range): string {
  const digits = high < 1 ? 2 : 1;
  const [from, to] = [low, high].map((one) => decimalsText(one, digits));
  return from === to ? `${to} s` : `${from} to ${to} s`;
}

function spanOf(ranges: Range[]): Range {
  return { low: Math.min(...ranges.map(({ low }) => low)), high: Math.max(...ranges.map(({ high }) => high)) };
}

/** Counts closed connections by close code or HTTP status, such as `1012 (the server restarts: "deploy")`. */
export function closesByCode(all: readonly CloseRow[]): [code: string, count: number][] {
  const rows = all.filter(({ reason }) => reason !== SERVER_DISCONNECT_REASON);
  const byCause = [...Map.groupBy(rows, ({ cause }) => cause)];
  return byCause.flatMap(([cause, ended]): [string, number][] => {
    const closeText = ended.map((one) => one.closeText).find((one) => one !== '') ?? '';
    const code = closeCodeText({ cause, closeText });
    return code === undefined ? [] : [[code, countOf(ended)]];
  });
}

/** Close codes that do not state a reason. */
const SILENT_CODES = [1000, 1005, 1006];

/**
 * Returns the suggested fix for the most frequent close code.
 * @param hasAge whether nearly all connections closed at the same age, which is a better explanation than some codes
 */
export function closeCodeFix(all: readonly CloseRow[], hasAge: boolean): string | undefined {
  const [first] = all.filter(({ reason }) => reason !== SERVER_DISCONNECT_REASON);
  const known = first && closeCodeOf(first.cause);
  return known && !(hasAge && SILENT_CODES.includes(known.code)) ? known.remedy : undefined;
}
