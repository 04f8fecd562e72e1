/**
 * Finds an event whose broadcasts can be counted, and the paths of the id and the send time in its messages. Compares
 * the messages of two connections.
 */
import { type JsonPath, PATH_WILDCARD, valueAtPath, valuesAtPath } from '../../../protocol/base/json-path.ts';
import { parseEventId } from '../../fleet/client/counted-event.ts';
import { measureEpochOffsetUs, parseInstant, sentTimes } from './sent-times.ts';

export interface ReceivedMessage {
  event: string;
  args: unknown[];
  /** Arrival time of the message on CLOCK_MONOTONIC. */
  receivedAtUs: number;
}

/** Messages that two connections received in the same period. A broadcast has the same id on both connections. */
export type ReceivedByTwo = readonly [ReceivedMessage[], ReceivedMessage[]];

export interface EventPaths {
  event: string;
  id: JsonPath;
  sentAt: JsonPath | undefined;
  /** Path of a value that looks like a time, and why it cannot be used as the send time. */
  unusableTime: { path: JsonPath; reason: string } | undefined;
}

interface Candidate {
  event: string;
  path: JsonPath;
  /** Rank of the path by how likely it leads to an id; 0 is best. */
  rank: number;
  messages: number;
}

/** Rank of a path to a time. A time identifies a message only if no two messages are sent at the same time. */
const RANK_OF_TIME = 3;
const MAX_DEPTH = 6;
const MAX_LEAVES = 500;
const MESSAGE_ID = /^_?(id|uuid|guid)$|^(message|msg|event)[_-]?id$/i;
const OTHER_ID = /([_-](id|uuid|guid|seq)|[a-z](Id|ID|Uuid|UUID|Seq))$|^(seq|sequence|nonce)$/;
/**
 * Pattern of a token, such as a UUID, an ObjectId or a nanoid. It has eight or more characters and a digit, unlike most
 * words.
 */
const TOKEN = /^(?=.*\d)[\w.:+/=-]{8,}$/;

/**
 * Finds the event and the path of its id: a value that differs between messages, and is the same on both connections.
 * @param published ids that the run's own publisher sent; if given, other ids do not count
 * @returns undefined if no event has such an id
 */
export function findEventPaths(
  [first, second]: ReceivedByTwo,
  published?: ReadonlySet<string>,
): EventPaths | undefined {
  const events = [...new Set(first.map(({ event }) => event))];
  const found = events.flatMap((event) =>
    candidatesOf(event, [ofEvent(event, first), ofEvent(event, second)], published),
  );
  const isList = ({ path }: Candidate) => Number(path.includes(PATH_WILDCARD));
  const [best] = found.sort(
    (a, b) => a.rank - b.rank || a.path.length - b.path.length || b.messages - a.messages || isList(a) - isList(b),
  );
  if (!best) return undefined;
  return { event: best.event, id: best.path, ...timeOf(ofEvent(best.event, first), best.path) };
}

function ofEvent(event: string, messages: ReceivedMessage[]): ReceivedMessage[] {
  return messages.filter((message) => message.event === event);
}

function candidatesOf(
  event: string,
  [first, second]: ReceivedByTwo,
  published: ReadonlySet<string> | undefined,
): Candidate[] {
  const leaves = first.flatMap(({ args }) => leafPaths(args)).flatMap((path) => [path, ...listPathsOf(path)]);
  const paths = new Map(leaves.map((path) => [path.join('\0'), path])).values();
  const idsIn = (messages: Pick<ReceivedMessage, 'args'>[], path: JsonPath) =>
    messages.flatMap(({ args }) =>
      (path.includes(PATH_WILDCARD) ? valuesAtPath(args, path) : [valueAtPath(args, path)]).map(parseEventId),
    );
  const secondMessages = new Set(second.map(({ args }) => JSON.stringify(args)));
  return [...paths].flatMap((path) => {
    const ids = idsIn(first, path);
    const secondIds = new Set(idsIn(second, path));
    const common = ids.filter((id) => id !== undefined && secondIds.has(id));
    const candidate = { event, path, messages: ids.length };
    if (published) {
      const own = common.filter((id) => published.has(id as string));
      return own.length > 0 ? [{ ...candidate, messages: own.length, rank: 0 }] : [];
    }
    const differ = !ids.includes(undefined) && new Set(ids).size === ids.length;
    // A single message does not show whether the next message has a different id.
    if (!differ || common.length < 2) return [];
    const rank = rankOf(path, first);
    const isShared = ({ args }: ReceivedMessage) => idsIn([{ args }], path).some((id) => secondIds.has(id));
    const isSame = ({ args }: ReceivedMessage) => secondMessages.has(JSON.stringify(args));
    if (rank === RANK_OF_TIME && !first.filter(isShared).every(isSame)) return [];
    return rank === undefined ? [] : [{ ...candidate, rank }];
  });
}

/**
 * Returns how likely the values at a path are ids.
 * @returns undefined for values that are more likely texts or measured values
 */
function rankOf(path: JsonPath, messages: ReceivedMessage[]): number | undefined {
  const key = path.at(-1) as string;
  const values = messages.flatMap(({ args }) => valuesAtPath(args, path));
  if (MESSAGE_ID.test(key)) return 0;
  if (OTHER_ID.test(key)) return 1;
  if (values.every((value) => parseInstant(value) !== undefined)) return RANK_OF_TIME;
  const isCounter = values.every((value, index) => index === 0 || value === Number(values[index - 1]) + 1);
  return isCounter || values.every((value) => typeof value === 'string' && TOKEN.test(value)) ? 2 : undefined;
}

function timeOf(messages: ReceivedMessage[], id: JsonPath): Pick<EventPaths, 'sentAt' | 'unusableTime'> {
  let unusableTime: EventPaths['unusableTime'];
  const usable: JsonPath[] = [];
  for (const path of leafPaths(messages[0]?.args)) {
    const stamped = messages.map(({ args, receivedAtUs }) => ({
      firstAtUs: receivedAtUs,
      sentAt: valueAtPath(args, path) as string | number | undefined,
    }));
    if (stamped.some(({ sentAt }) => parseInstant(sentAt) === undefined)) continue;
    const times = sentTimes(stamped, measureEpochOffsetUs());
    if ('atUs' in times) usable.push(path);
    else if (path.join() !== id.join()) unusableTime ??= { path, reason: times.unusable };
  }
  const sentAt = usable.find((path) => /sent/i.test(path.at(-1) as string)) ?? usable[0];
  return { sentAt, unusableTime: sentAt ? undefined : unusableTime };
}

export function findIdPath(args: unknown[], ids: ReadonlySet<string>): JsonPath | undefined {
  return leafPaths(args).find((path) => ids.has(idAtPath(args, path) ?? ''));
}

/** Returns the id at the path; undefined if the value there cannot be an id. */
export function idAtPath(args: unknown, path: JsonPath): string | undefined {
  return parseEventId(valueAtPath(args, path));
}

/** Returns variants of the path: in each variant, one list index is replaced by all entries of the list. */
function listPathsOf(path: JsonPath): JsonPath[] {
  return path.flatMap((step, depth) => (depth > 0 && /^\d+$/.test(step) ? [path.with(depth, PATH_WILDCARD)] : []));
}

/** Returns the paths of all strings and numbers in the value, breadth first. */
export function leafPaths(args: unknown): JsonPath[] {
  const leaves: JsonPath[] = [];
  let level: [JsonPath, unknown][] = [[[], args]];
  for (let depth = 0; depth <= MAX_DEPTH && leaves.length < MAX_LEAVES; depth++) {
    const next: [JsonPath, unknown][] = [];
    for (const [path, value] of level) {
      if (typeof value === 'string' || typeof value === 'number') leaves.push(path);
      else if (typeof value === 'object' && value !== null && !ArrayBuffer.isView(value)) {
        for (const [key, inner] of Object.entries(value).slice(0, MAX_LEAVES)) next.push([[...path, key], inner]);
      }
    }
    level = next.slice(0, MAX_LEAVES);
  }
  return leaves;
}
