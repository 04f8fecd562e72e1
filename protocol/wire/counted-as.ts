/**
 * What a broadcast of an own event is counted as: each namespace, and each of its rooms, may have ids of its own. In the main
 * namespace and without rooms, it is the id itself.
 */
import { AUDIENCE } from './rooms.ts';

/** Begins what is more than an id or a room's name, and ends the length of a place. */
const MARK = '\0';
const MAX_NAMESPACE_LENGTH = 200;

/** A room belongs to its namespace: both together are where a broadcast goes, and what a connection is a member of. */
export interface Place {
  /** Without a comma: that ends it in a packet. */
  namespace: string;
  /** `AUDIENCE` if there is only one: all receivers in the namespace. */
  room: string;
}

export interface OwnBroadcast extends Place {
  id: string;
}

/** @returns in the main namespace, the room's name */
export function placeOf({ namespace, room }: Place): string {
  if (namespace === '/' && !room.startsWith(MARK)) return room;
  return `${MARK}${namespace.slice(0, MAX_NAMESPACE_LENGTH)},${room}`;
}

/** The inverse of `placeOf`. */
export function readPlace(place: string): Place {
  if (!place.startsWith(MARK)) return { namespace: '/', room: place };
  const comma = place.indexOf(',');
  return { namespace: place.slice(MARK.length, comma), room: place.slice(comma + 1) };
}

export function countedAs({ id, ...where }: OwnBroadcast): string {
  const place = placeOf(where);
  if (place === AUDIENCE && !id.startsWith(MARK)) return id;
  return `${MARK}${place.length}${MARK}${place}${id}`;
}

export function placeOfCounted(counted: string): string {
  if (!counted.startsWith(MARK)) return AUDIENCE;
  const start = counted.indexOf(MARK, 1) + 1;
  return counted.slice(start, start + Number(counted.slice(1, start - 1)));
}
