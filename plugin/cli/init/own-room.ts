/**
 * Where the room of a client is named: by what it emits to join one, such as a document, by the answer to that, by a variable
 * that its login brings, or by an event that tells it its own, such as the id of its user. Found by sending to what may be one.
 */
import { formatJsonPath } from '../../../protocol/json-path.ts';
import { findId, type Heard, idAt, leavesOf, type Message } from '../../run/own-event/find-paths.ts';
import { isTemplate } from '../../script/is-template.ts';

/** What may be a room, and what a scenario says if it is one. */
export interface Told {
  room: string;
  /** Of `delivery.audience`. */
  client: string;
  /** Event by which a client joins it. */
  join?: string;
  /** By which a virtual user learns its own. */
  step?: Record<string, unknown>;
}

/** Of an event that a client emitted. */
export interface Acknowledged {
  event: string;
  args: unknown[];
  answer: unknown[];
}

/** Of a scenario: the room of a client. */
export interface OwnRoom {
  delivery: { join?: string; audience: { event: string; client: string } };
  step?: Record<string, unknown>;
}

type Variables = Record<string, unknown>;

const ROOM_VARIABLE = 'room';
/** Each costs a broadcast. */
const MAX_TOLD = 10;
/** Of a key that the flow's JSONPath takes as it is. */
const PLAIN_KEY = /^[\w-]+$/;

/** @param learned variables of each client that its flow has set @returns what may be the room of the first of two */
export function toldTo(
  heard: Heard,
  acknowledged: Acknowledged[],
  learned: readonly [Variables, Variables],
  namespace?: string,
): Told[] {
  const all = [...acknowledged.flatMap(joinedBy), ...inVariables(learned), ...toldAlone(heard, namespace)];
  return all
    .filter(({ room }, index) => room !== '' && all.findIndex((one) => one.room === room) === index)
    .slice(0, MAX_TOLD);
}

/** A run looks for a room in the answer where the arguments have none. */
function joinedBy({ event: join, args, answer }: Acknowledged): Told[] {
  const places = [...leavesOf(args), ...leavesOf(answer)].map((path) => ({
    path,
    room: idAt(args, path) ?? idAt(answer, path),
  }));
  return places.flatMap(({ path, room }) =>
    room === undefined || isTemplate([join, room, path]) ? [] : [{ room, join, client: formatJsonPath(path) }],
  );
}

function inVariables([one, other]: readonly [Variables, Variables]): Told[] {
  return Object.keys(one).flatMap((client) => {
    const room = idAt(one, [client]);
    return room === undefined || room === idAt(other, [client]) || !PLAIN_KEY.test(client) ? [] : [{ room, client }];
  });
}

/** @returns what one was told, and the other was not */
function toldAlone([one, other]: Heard, namespace: string | undefined): Told[] {
  const others = firsts(other);
  return [...firsts(one).values()].flatMap(({ event, args }) => {
    // In the flow, `$.0` would be its first entry.
    if (isTemplate(event) || (args.length === 1 && Array.isArray(args[0]))) return [];
    return leavesOf(args).flatMap((path) => {
      const room = idAt(args, path);
      const isShared = idAt(others.get(event)?.args, path) === room;
      if (room === undefined || isShared || !path.every((key) => PLAIN_KEY.test(key))) return [];
      const capture = { json: formatJsonPath(path), as: ROOM_VARIABLE };
      const step = { waitFor: { event, ...(namespace !== undefined && { namespace }), capture } };
      return [{ room, client: ROOM_VARIABLE, step }];
    });
  });
}

/**
 * @param messages of the event to count, that the first client got
 * @param published the room that each id was sent to
 * @returns undefined if none arrived
 */
export function ownRoom(
  messages: Pick<Message, 'args'>[],
  published: ReadonlyMap<string, string>,
  told: Told[],
): OwnRoom | undefined {
  for (const { args } of messages) {
    const id = findId(args, new Set(published.keys()));
    const sentTo = id && published.get(idAt(args, id) ?? '');
    const place = sentTo ? findId(args, new Set([sentTo])) : undefined;
    const { room, client, join, step } = told.find((one) => one.room === sentTo) ?? {};
    if (!place || room === undefined || client === undefined || isTemplate(place)) continue;
    const audience = { event: formatJsonPath(place), client };
    return { delivery: { ...(join !== undefined && { join }), audience }, ...(step && { step }) };
  }
  return undefined;
}

/** By event, in the order in which they came. */
function firsts(messages: Message[]): Map<string, Message> {
  const first = new Map<string, Message>();
  for (const message of messages) if (!first.has(message.event)) first.set(message.event, message);
  return first;
}
