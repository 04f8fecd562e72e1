/**
 * Composite keys under which broadcasts of the user's own event are counted, because each namespace and room can have its own ids. In the
 * main namespace without rooms, the key is the id itself.
 */
import { AUDIENCE } from './rooms.ts';

/** Escape character: marks a composite key and ends its length prefix. */
const MARK = '\0';
const MAX_NAMESPACE_LENGTH = 200;

/** A room in a namespace: the destination of a broadcast. */
export interface Place {
  /** Contains no comma, which ends the namespace in a packet. */
  namespace: string;
  /** `AUDIENCE` for all receivers in the namespace. */
  room: string;
}

export interface OwnBroadcast extends Place {
  id: string;
}

/** Returns a key for the place; in the main namespace, it is the room's name. */
export function placeOf({ namespace, room }: Place): string {
  if (namespace === '/' && !room.startsWith(MARK)) return room;
  return `${MARK}${namespace.slice(0, MAX_NAMESPACE_LENGTH)},${room}`;
}

/** Inverse of `placeOf`. */
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
