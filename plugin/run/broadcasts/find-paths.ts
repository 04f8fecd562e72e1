/** Which event of a server can be counted, and where in it an id and a time stand: found in what two connections got. */
import { EACH, type JsonPath, valueAt, valuesAt } from '../../../protocol/base/json-path.ts';
import { idOf } from '../../fleet/client/counted-event.ts';
import { instantOf, measureEpochOffsetUs, sentTimes } from './sent-times.ts';

export interface Message {
  event: string;
  args: unknown[];
  /** On CLOCK_MONOTONIC. */
  receivedAtUs: number;
}

/** What two connections got in the same time: what tells broadcasts apart is the same for both. */
export type Heard = readonly [Message[], Message[]];

export interface Paths {
  event: string;
  id: JsonPath;
  sentAt: JsonPath | undefined;
  /** Why something that looks like a time is not used. */
  unusableTime: { path: JsonPath; reason: string } | undefined;
}

/** Lower is better. */
interface Candidate {
  event: string;
  path: JsonPath;
  rank: number;
  messages: number;
}

/** A time tells messages apart only if no two are sent at once, so it comes last. */
const RANK_OF_TIME = 3;
const MAX_DEPTH = 6;
const MAX_LEAVES = 500;
const MESSAGE_ID = /^_?(id|uuid|guid)$|^(message|msg|event)[_-]?id$/i;
const OTHER_ID = /([_-](id|uuid|guid|seq)|[a-z](Id|ID|Uuid|UUID|Seq))$|^(seq|sequence|nonce)$/;
/** Such as a UUID, an ObjectId or a nanoid; words of a text have no digits or are shorter. */
const TOKEN = /^(?=.*\d)[\w.:+/=-]{8,}$/;

/**
 * @param published ids that the run's own publisher sent, if it sends them: then only these count
 * @returns undefined if no event has an id that both connections got and that no two of its messages share
 */
export function findPaths([one, other]: Heard, published?: ReadonlySet<string>): Paths | undefined {
  const events = [...new Set(one.map(({ event }) => event))];
  const found = events.flatMap((event) => idsOf(event, [of(event, one), of(event, other)], published));
  const isList = ({ path }: Candidate) => Number(path.includes(EACH));
  const [best] = found.sort(
    (a, b) => a.rank - b.rank || a.path.length - b.path.length || b.messages - a.messages || isList(a) - isList(b),
  );
  if (!best) return undefined;
  return { event: best.event, id: best.path, ...timeOf(of(best.event, one), best.path) };
}

function of(event: string, messages: Message[]): Message[] {
  return messages.filter((message) => message.event === event);
}

function idsOf(event: string, [one, other]: Heard, published: ReadonlySet<string> | undefined): Candidate[] {
  const leaves = one.flatMap(({ args }) => leavesOf(args)).flatMap((path) => [path, ...withAllOf(path)]);
  const paths = new Map(leaves.map((path) => [path.join('\0'), path])).values();
  const idsIn = (messages: Pick<Message, 'args'>[], path: JsonPath) =>
    messages.flatMap(({ args }) => (path.includes(EACH) ? valuesAt(args, path) : [valueAt(args, path)]).map(idOf));
  const whole = new Set(other.map(({ args }) => JSON.stringify(args)));
  return [...paths].flatMap((path) => {
    const ids = idsIn(one, path);
    const others = new Set(idsIn(other, path));
    const common = ids.filter((id) => id !== undefined && others.has(id));
    const candidate = { event, path, messages: ids.length };
    if (published) {
      const own = common.filter((id) => published.has(id as string));
      return own.length > 0 ? [{ ...candidate, messages: own.length, rank: 0 }] : [];
    }
    const differ = !ids.includes(undefined) && new Set(ids).size === ids.length;
    // One message cannot show whether the next one has another id.
    if (!differ || common.length < 2) return [];
    const rank = rankOf(path, one);
    // Two messages, one for each connection, may have been made in the same millisecond.
    const isShared = ({ args }: Message) => idsIn([{ args }], path).some((id) => others.has(id));
    if (rank === RANK_OF_TIME && !one.filter(isShared).every(({ args }) => whole.has(JSON.stringify(args)))) return [];
    return rank === undefined ? [] : [{ ...candidate, rank }];
  });
}

/** @returns undefined for what rather is a text or a measured value than an id */
function rankOf(path: JsonPath, messages: Message[]): number | undefined {
  const key = path.at(-1) as string;
  const values = messages.flatMap(({ args }) => valuesAt(args, path));
  if (MESSAGE_ID.test(key)) return 0;
  if (OTHER_ID.test(key)) return 1;
  if (values.every((value) => instantOf(value) !== undefined)) return RANK_OF_TIME;
  const isCounter = values.every((value, index) => index === 0 || value === Number(values[index - 1]) + 1);
  return isCounter || values.every((value) => typeof value === 'string' && TOKEN.test(value)) ? 2 : undefined;
}

function timeOf(messages: Message[], id: JsonPath): Pick<Paths, 'sentAt' | 'unusableTime'> {
  let unusableTime: Paths['unusableTime'];
  const usable: JsonPath[] = [];
  for (const path of leavesOf(messages[0]?.args)) {
    const stamped = messages.map(({ args, receivedAtUs }) => ({
      firstAtUs: receivedAtUs,
      sentAt: valueAt(args, path) as string | number | undefined,
    }));
    if (stamped.some(({ sentAt }) => instantOf(sentAt) === undefined)) continue;
    const times = sentTimes(stamped, measureEpochOffsetUs());
    if ('atUs' in times) usable.push(path);
    else if (path.join() !== id.join()) unusableTime ??= { path, reason: times.unusable };
  }
  const sentAt = usable.find((path) => /sent/i.test(path.at(-1) as string)) ?? usable[0];
  return { sentAt, unusableTime: sentAt ? undefined : unusableTime };
}

export function findId(args: unknown[], ids: ReadonlySet<string>): JsonPath | undefined {
  return leavesOf(args).find((path) => ids.has(idAt(args, path) ?? ''));
}

/** @returns undefined if what stands there cannot be an id */
export function idAt(args: unknown, path: JsonPath): string | undefined {
  return idOf(valueAt(args, path));
}

/** Where a list inside an argument has an entry, others may have as well. */
function withAllOf(path: JsonPath): JsonPath[] {
  return path.flatMap((step, depth) => (depth > 0 && /^\d+$/.test(step) ? [path.with(depth, EACH)] : []));
}

/** @returns the paths of all strings and numbers, those of the first levels first */
export function leavesOf(args: unknown): JsonPath[] {
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
