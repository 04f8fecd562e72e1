/** Where a server tells a client which room is its own, such as the id of its user: found by sending to what one was told. */
import { formatJsonPath, type JsonPath } from '../../../protocol/json-path.ts';
import { findId, type Heard, idAt, leavesOf, type Message } from '../../run/own-event/find-paths.ts';
import { isTemplate } from '../../script/is-template.ts';

/** What may be the room of one client alone, and where that was told: the first event of this name. */
export interface Told {
  event: string;
  path: JsonPath;
  room: string;
}

/** Of a scenario: a client's room. */
export const ROOM_VARIABLE = 'room';
const MAX_TOLD = 30;
/** Of a key that the flow's JSONPath takes as it is. */
const PLAIN_KEY = /^[\w-]+$/;

/** @returns what the first of two clients was told, and the other was not */
export function toldTo([one, other]: Heard): Told[] {
  const others = firsts(other);
  const told = [...firsts(one).values()].flatMap(({ event, args }) => {
    // In the flow, `$.0` would be its first entry.
    if (isTemplate(event) || (args.length === 1 && Array.isArray(args[0]))) return [];
    return leavesOf(args).flatMap((path) => {
      const room = idAt(args, path);
      const isShared = idAt(others.get(event)?.args, path) === room;
      return room === undefined || isShared || !path.every((key) => PLAIN_KEY.test(key)) ? [] : [{ event, path, room }];
    });
  });
  return [...new Map(told.map((one) => [one.room, one])).values()].slice(0, MAX_TOLD);
}

/**
 * @param messages of the event to count, that the first client got
 * @param published the room that each id was sent to
 * @returns where the room stands in the event, and the step by which a virtual user learns its own; undefined if none arrived
 */
export function ownRoom(messages: Message[], published: ReadonlyMap<string, string>, told: Told[], namespace?: string) {
  for (const { args } of messages) {
    const id = findId(args, new Set(published.keys()));
    const room = id && published.get(idAt(args, id) ?? '');
    const place = room ? findId(args, new Set([room])) : undefined;
    const source = told.find((one) => one.room === room);
    if (!place || !source || isTemplate(place)) continue;
    const capture = { json: formatJsonPath(source.path), as: ROOM_VARIABLE };
    return {
      place,
      step: { waitFor: { event: source.event, ...(namespace !== undefined && { namespace }), capture } },
    };
  }
  return undefined;
}

/** By event. */
function firsts(messages: Message[]): Map<string, Message> {
  return new Map(messages.toReversed().map((message) => [message.event, message]));
}
