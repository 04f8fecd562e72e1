/**
 * Finds values that a client sent and the server forwarded to clients, such as chat messages. A run can send an id in
 * place of such a value, and count the copies of the event that contain the id.
 */
import { type JsonPath, valueAtPath } from '../../../../protocol/base/json-path.ts';
import { leafPaths } from '../../../run/broadcasts/find-paths.ts';
import { isTemplate } from '../../../script/is-template.ts';
import type { RecordedPacket } from './recorded-connections.ts';
import { isOpaqueValue } from './recorded-values.ts';

export interface ForwardedValue {
  /** Event that the client sent. */
  sent: string;
  /** First packet with which the client sent the event. */
  packet: RecordedPacket;
  /** Name and arguments of the sent event, with `$id` in place of the forwarded value. */
  args: unknown[];
  /** Event in which the server forwarded the value. */
  event: string;
  /** Path of the forwarded value in the server's event. */
  id: JsonPath;
}

const WITHIN_MS = 10_000;
const MAX_COMPARED = 2000;
/**
 * Matches names of events that are usually not messages. The server's answer to such an event often repeats a value
 * from the client, such as a room.
 */
const NO_MESSAGE = /join|enter|subscri|login|log_in|auth|regist|init|hello|leave|typing|status|presence|ready|room/i;
const ID = /id$|uuid|nonce/i;
/**
 * Smallest number of forwarded values with which an event counts as a message, even if its name suggests something
 * else.
 */
const TRUSTED = 3;

/** Returns the forwarded values. The first one is the most likely message. */
export function findForwardedValues(packets: RecordedPacket[]): ForwardedValue[] {
  const events = packets.filter(({ kind, data }) => kind === 'event' && Array.isArray(data)).slice(0, MAX_COMPARED);
  const received = events.filter(({ isSent }) => !isSent).map((packet) => ({ packet, texts: textsIn(packet) }));
  const found = new Map<string, ForwardedValue & { count: number; score: number }>();
  const earlier = new Set<string>();
  for (const packet of events.filter(({ isSent }) => isSent)) {
    const [sent, ...args] = packet.data as [string, ...unknown[]];
    const texts = textsIn(packet);
    for (const [path, text] of texts) {
      // An id of a message must be new: a value that was sent before is ignored.
      if (text.length < 2 || earlier.has(text) || text.startsWith('$')) continue;
      const answer = received.find(
        ({ packet: { atMs }, texts: all }) =>
          atMs >= packet.atMs && atMs - packet.atMs < WITHIN_MS && all.some(([, other]) => other === text),
      );
      const wasKnown = received.some(
        ({ packet: { atMs }, texts: all }) => atMs < packet.atMs && all.some(([, other]) => other === text),
      );
      const id = answer?.texts.find(([, other]) => other === text)?.[0];
      if (!answer || !id || wasKnown) continue;
      const [event] = answer.packet.data as [string];
      if (isTemplate([event, id, sent, args])) continue;
      const key = JSON.stringify([sent, path, event, id]);
      const echo = found.get(key) ?? {
        ...{ sent, packet, event, id, count: 0, score: 0 },
        args: [sent, ...(withId(args, path) as unknown[])],
      };
      echo.count++;
      const isId = ID.test(path.at(-1) ?? '') || isOpaqueValue(text);
      const isMessage = echo.count >= TRUSTED || !NO_MESSAGE.test(sent);
      echo.score = (isMessage ? 100 : 0) + (isId ? 20 : 0) + Math.min(10, echo.count);
      found.set(key, echo);
    }
    for (const [, text] of texts) earlier.add(text);
  }
  return [...found.values()]
    .filter(({ score }) => score >= 100)
    .sort((a, b) => b.score - a.score || b.packet.atMs - a.packet.atMs)
    .map(({ sent, packet, args, event, id }) => ({ sent, packet, args, event, id }));
}

function textsIn({ data }: RecordedPacket): [JsonPath, string][] {
  const [, ...args] = data as unknown[];
  return leafPaths(args).flatMap((path): [JsonPath, string][] => {
    const value = valueAtPath(args, path);
    return typeof value === 'string' ? [[path, value]] : [];
  });
}

function withId(value: unknown, [key, ...inside]: JsonPath): unknown {
  if (key === undefined) return '$id';
  if (Array.isArray(value)) return value.with(Number(key), withId(value[Number(key)], inside));
  return { ...(value as object), [key]: withId((value as Record<string, unknown>)[key], inside) };
}
