/**
 * Where the room of a client is named: by what it emits to join one, such as a document, by the answer to that, or by an event
 * that tells it its own, such as the id of its user. Found by sending to what may be a room.
 */
import { formatJsonPath, type JsonPath } from '../../../protocol/json-path.ts';
import { findId, type Heard, idAt, leavesOf, type Message } from '../../run/own-event/find-paths.ts';
import { isTemplate } from '../../script/is-template.ts';

/** What may be a room, and where that was told: the first event of this name. */
export interface Told {
  event: string;
  path: JsonPath;
  room: string;
  /** The client emits the event; the path is one into its arguments, or into its acknowledgement. */
  joins?: true;
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
  /** By which a virtual user learns its own. */
  step?: Record<string, unknown>;
}

const ROOM_VARIABLE = 'room';
const MAX_TOLD = 30;
/** Of a key that the flow's JSONPath takes as it is. */
const PLAIN_KEY = /^[\w-]+$/;

/** @returns what may be the room of the first of two clients */
export function toldTo(heard: Heard, acknowledged: Acknowledged[]): Told[] {
  const all = [...acknowledged.flatMap(joinedBy), ...toldAlone(heard)];
  return all.filter(({ room }, index) => all.findIndex((one) => one.room === room) === index).slice(0, MAX_TOLD);
}

/** A run looks for a room in the answer where the arguments have none. */
function joinedBy({ event, args, answer }: Acknowledged): Told[] {
  const places = [...leavesOf(args), ...leavesOf(answer)].map((path) => ({
    path,
    room: idAt(args, path) ?? idAt(answer, path),
  }));
  return places.flatMap(({ path, room }) =>
    room === undefined || isTemplate([event, room, path]) ? [] : [{ event, path, room, joins: true as const }],
  );
}

/** @returns what one was told, and the other was not */
function toldAlone([one, other]: Heard): Told[] {
  const others = firsts(other);
  return [...firsts(one).values()].flatMap(({ event, args }) => {
    // In the flow, `$.0` would be its first entry.
    if (isTemplate(event) || (args.length === 1 && Array.isArray(args[0]))) return [];
    return leavesOf(args).flatMap((path) => {
      const room = idAt(args, path);
      const isShared = idAt(others.get(event)?.args, path) === room;
      return room === undefined || isShared || !path.every((key) => PLAIN_KEY.test(key)) ? [] : [{ event, path, room }];
    });
  });
}

/**
 * @param messages of the event to count, that the first client got
 * @param published the room that each id was sent to
 * @returns undefined if none arrived
 */
export function ownRoom(
  messages: Message[],
  published: ReadonlyMap<string, string>,
  told: Told[],
  namespace?: string,
): OwnRoom | undefined {
  for (const { args } of messages) {
    const id = findId(args, new Set(published.keys()));
    const room = id && published.get(idAt(args, id) ?? '');
    const place = room ? findId(args, new Set([room])) : undefined;
    const source = told.find((one) => one.room === room);
    if (!place || !source || isTemplate(place)) continue;
    const [event, path] = [formatJsonPath(place), formatJsonPath(source.path)];
    if (source.joins) return { delivery: { join: source.event, audience: { event, client: path } } };
    const capture = { json: path, as: ROOM_VARIABLE };
    return {
      delivery: { audience: { event, client: ROOM_VARIABLE } },
      step: { waitFor: { event: source.event, ...(namespace !== undefined && { namespace }), capture } },
    };
  }
  return undefined;
}

/** By event. */
function firsts(messages: Message[]): Map<string, Message> {
  return new Map(messages.toReversed().map((message) => [message.event, message]));
}
