/**
 * What a broadcast of an own event is counted as: each namespace, and each room, may have ids of its own. In the main namespace
 * and without rooms, it is the id itself.
 */
import { AUDIENCE } from './rooms.ts';

/** Begins what is more than an id, and ends the length of its room. */
const MARK = '\0';
const MAX_NAMESPACE_LENGTH = 200;

export interface OwnBroadcast {
  /** Without a comma: that ends it in a packet. */
  namespace: string;
  /** `AUDIENCE` if there is only one. */
  room: string;
  id: string;
}

export function countedAs({ namespace, room, id }: OwnBroadcast): string {
  if (namespace === '/' && room === AUDIENCE && !id.startsWith(MARK)) return id;
  return `${MARK}${room.length}${MARK}${room}${namespace.slice(0, MAX_NAMESPACE_LENGTH)},${id}`;
}

/** @returns `AUDIENCE` if there is only one */
export function roomOfCounted(counted: string): string {
  if (!counted.startsWith(MARK)) return AUDIENCE;
  const start = counted.indexOf(MARK, 1) + 1;
  return counted.slice(start, start + Number(counted.slice(1, start - 1)));
}
