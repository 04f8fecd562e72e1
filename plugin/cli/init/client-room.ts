/**
 * Finds out from where a client knows its room: from the event with which it joins, the acknowledgement of the join, a
 * variable of its login, or an event for this client only. Each candidate is tested by publishing to it.
 */
import { formatJsonPath, type JsonPath, valueAtPath } from '../../../protocol/base/json-path.ts';
import {
  findIdPath,
  idAtPath,
  leafPaths,
  type ReceivedByTwo,
  type ReceivedMessage,
} from '../../run/broadcasts/find-paths.ts';
import { isTemplate } from '../../script/is-template.ts';

/** A value that may be a client's room, with its entries in the scenario. */
export interface RoomCandidate {
  room: string;
  /** Value for `delivery.audience.client` in the scenario. */
  client: string;
  /** Event with which a client joins the room. */
  join?: string;
  /** Step that captures the room for a virtual user. */
  step?: Record<string, unknown>;
  /**
   * Position of the room's name in an emit without acknowledgement. A variable replaces the name there, so that a run
   * can read which room a client has joined.
   */
  place?: Place;
}

interface Place {
  event: string;
  path: JsonPath;
  value: unknown;
}

/** An event that a client emitted, with its acknowledgement. */
export interface EmittedEvent {
  event: string;
  args: unknown[];
  /** Arguments of the acknowledgement; undefined if there was none. */
  answer: unknown[] | undefined;
}

/** Entries of the scenario that describe a client's room. */
export interface ClientRoom extends Pick<RoomCandidate, 'step' | 'place'> {
  delivery: { join?: string; audience: { event: string; client: string } };
}

type Variables = Record<string, unknown>;

export const ROOM_VARIABLE = 'room';
/** Largest number of candidates for a client's room. Each candidate needs a published event to test it. */
const MAX_TOLD = 10;
/** Matches a key that needs no quotes in JSONPath. */
const PLAIN_KEY = /^[\w-]+$/;

/**
 * Returns values that may be the first client's room.
 * @param learned variables that the flow has set for each of the two clients
 */
export function roomCandidates(
  heard: ReceivedByTwo,
  emitted: EmittedEvent[],
  learned: readonly [Variables, Variables],
  namespace?: string,
): RoomCandidate[] {
  const all = [...emitted.flatMap(joinedBy), ...inVariables(learned), ...toldAlone(heard, namespace)];
  return all
    .filter(({ room }, index) => room !== '' && all.findIndex((one) => one.room === room) === index)
    .slice(0, MAX_TOLD);
}

/** Returns the values in a join, or in its acknowledgement, that may be the room. */
function joinedBy({ event: join, args, answer }: EmittedEvent): RoomCandidate[] {
  if (!answer) return unanswered(join, args);
  const places = [...leafPaths(args), ...leafPaths(answer)].map((path) => ({
    path,
    room: idAtPath(args, path) ?? idAtPath(answer, path),
  }));
  return places.flatMap(({ path, room }) =>
    room === undefined || isTemplate([join, room, path]) ? [] : [{ room, join, client: formatJsonPath(path) }],
  );
}

function unanswered(event: string, args: unknown[]): RoomCandidate[] {
  return leafPaths(args).flatMap((path) => {
    const [room, value] = [idAtPath(args, path), valueAtPath(args, path)];
    return room === undefined || isTemplate(room)
      ? []
      : [{ room, client: ROOM_VARIABLE, place: { event, path, value } }];
  });
}

function inVariables([one, other]: readonly [Variables, Variables]): RoomCandidate[] {
  return Object.keys(one).flatMap((client) => {
    const room = idAtPath(one, [client]);
    return room === undefined || room === idAtPath(other, [client]) || !PLAIN_KEY.test(client)
      ? []
      : [{ room, client }];
  });
}

/** Returns values in events of the first client that the second client did not receive. */
function toldAlone([one, other]: ReceivedByTwo, namespace: string | undefined): RoomCandidate[] {
  const others = firsts(other);
  return [...firsts(one).values()].flatMap(({ event, args }) => {
    // Values in a list that is the only argument cannot be captured: `$.0` would select the list's first entry.
    if (isTemplate(event) || (args.length === 1 && Array.isArray(args[0]))) return [];
    return leafPaths(args).flatMap((path) => {
      const room = idAtPath(args, path);
      const isShared = idAtPath(others.get(event)?.args, path) === room;
      if (room === undefined || isShared || !path.every((key) => PLAIN_KEY.test(key))) return [];
      const capture = { json: formatJsonPath(path), as: ROOM_VARIABLE };
      const step = { waitFor: { event, ...(namespace !== undefined && { namespace }), capture } };
      return [{ room, client: ROOM_VARIABLE, step }];
    });
  });
}

/**
 * Returns the first client's room: the candidate to which a message was published that the client has received.
 * @param messages messages of the event to count that the first client received
 * @param published room to which each id was sent
 */
export function findClientRoom(
  messages: Pick<ReceivedMessage, 'args'>[],
  published: ReadonlyMap<string, string>,
  told: RoomCandidate[],
): ClientRoom | undefined {
  for (const { args } of messages) {
    const id = findIdPath(args, new Set(published.keys()));
    const sentTo = id && published.get(idAtPath(args, id) ?? '');
    const place = sentTo ? findIdPath(args, new Set([sentTo])) : undefined;
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

/** Returns the first message with each event name. */
function firsts(messages: ReceivedMessage[]): Map<string, ReceivedMessage> {
  const first = new Map<string, ReceivedMessage>();
  for (const message of messages) if (!first.has(message.event)) first.set(message.event, message);
  return first;
}

/** Returns the step with a variable in place of the room's name. */
export function stepWithRoomVariable(step: Record<string, unknown>, { event, path }: Place): Record<string, unknown> {
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
