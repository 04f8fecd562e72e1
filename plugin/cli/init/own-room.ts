/**
 * Finds the place of a client's room: the event with which it joins, the answer to that, a variable of its login, or an
 * event that contains its own id. Each candidate is tested by publishing to it.
 */
import { formatJsonPath, type JsonPath, valueAt } from '../../../protocol/base/json-path.ts';
import { findId, type Heard, idAt, leavesOf, type Message } from '../../run/broadcasts/find-paths.ts';
import { isTemplate } from '../../script/is-template.ts';

/** A candidate for a room, and its entries in the scenario. */
export interface Told {
  room: string;
  /** Value of `delivery.audience.client`. */
  client: string;
  /** Event with which a client joins the room. */
  join?: string;
  /** Step with which a virtual user captures its own room. */
  step?: Record<string, unknown>;
  /**
   * Place of the room in an unacknowledged emit. A variable replaces it, because only the variable shows which room the
   * client has joined.
   */
  place?: Place;
}

interface Place {
  event: string;
  path: JsonPath;
  value: unknown;
}

/** An event that a client emitted, and the server’s answer. */
export interface Emitted {
  event: string;
  args: unknown[];
  /** Arguments of the acknowledgement; undefined if none arrived. */
  answer: unknown[] | undefined;
}

/** Entries of the scenario about a client's room. */
export interface OwnRoom extends Pick<Told, 'step' | 'place'> {
  delivery: { join?: string; audience: { event: string; client: string } };
}

type Variables = Record<string, unknown>;

export const ROOM_VARIABLE = 'room';
/** Largest number of candidates; each costs a broadcast. */
const MAX_TOLD = 10;
/** Matches a key that the flow's JSONPath accepts without quotes. */
const PLAIN_KEY = /^[\w-]+$/;

/** @param learned variables of each client, set by its flow @returns candidates for the room of the first of two clients */
export function toldTo(
  heard: Heard,
  emitted: Emitted[],
  learned: readonly [Variables, Variables],
  namespace?: string,
): Told[] {
  const all = [...emitted.flatMap(joinedBy), ...inVariables(learned), ...toldAlone(heard, namespace)];
  return all
    .filter(({ room }, index) => room !== '' && all.findIndex((one) => one.room === room) === index)
    .slice(0, MAX_TOLD);
}

/** Returns the values of a join that can be rooms. A run reads the room from the answer if the arguments have none. */
function joinedBy({ event: join, args, answer }: Emitted): Told[] {
  if (!answer) return unanswered(join, args);
  const places = [...leavesOf(args), ...leavesOf(answer)].map((path) => ({
    path,
    room: idAt(args, path) ?? idAt(answer, path),
  }));
  return places.flatMap(({ path, room }) =>
    room === undefined || isTemplate([join, room, path]) ? [] : [{ room, join, client: formatJsonPath(path) }],
  );
}

function unanswered(event: string, args: unknown[]): Told[] {
  return leavesOf(args).flatMap((path) => {
    const [room, value] = [idAt(args, path), valueAt(args, path)];
    return room === undefined || isTemplate(room)
      ? []
      : [{ room, client: ROOM_VARIABLE, place: { event, path, value } }];
  });
}

function inVariables([one, other]: readonly [Variables, Variables]): Told[] {
  return Object.keys(one).flatMap((client) => {
    const room = idAt(one, [client]);
    return room === undefined || room === idAt(other, [client]) || !PLAIN_KEY.test(client) ? [] : [{ room, client }];
  });
}

/** Returns values in events to the first client that the second client did not receive. */
function toldAlone([one, other]: Heard, namespace: string | undefined): Told[] {
  const others = firsts(other);
  return [...firsts(one).values()].flatMap(({ event, args }) => {
    // In the flow, `$.0` would select its first entry.
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
 * @param messages messages with the event to count, received by the first client
 * @param published room to which each id was sent
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
    const { room, client, join, step, place: drawn } = told.find((one) => one.room === sentTo) ?? {};
    if (!place || room === undefined || client === undefined || isTemplate(place)) continue;
    const audience = { event: formatJsonPath(place), client };
    return {
      delivery: { ...(join !== undefined && { join }), audience },
      ...(step && { step }),
      ...(drawn && { place: drawn }),
    };
  }
  return undefined;
}

/** Returns the first message of each event, in the order of arrival. */
function firsts(messages: Message[]): Map<string, Message> {
  const first = new Map<string, Message>();
  for (const message of messages) if (!first.has(message.event)) first.set(message.event, message);
  return first;
}

/** Returns the step with the variable in place of the room. */
export function drawnIn(step: Record<string, unknown>, { event, path }: Place): Record<string, unknown> {
  const { emit } = step;
  if (!Array.isArray(emit) || String(emit[0]) !== event) return step;
  return { ...step, emit: [emit[0], ...(replaced(emit.slice(1), path) as unknown[])] };
}

function replaced(value: unknown, [key, ...inside]: JsonPath): unknown {
  if (key === undefined) return `{{ ${ROOM_VARIABLE} }}`;
  if (Array.isArray(value)) return value.with(Number(key), replaced(value[Number(key)], inside));
  const object = value as Record<string, unknown>;
  return { ...object, [key]: replaced(object[key], inside) };
}
