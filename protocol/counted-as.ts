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

/** @returns what stands for a room where there is only one: all receivers in the namespace */
export function audienceOf(namespace: string): string {
  return namespace === '/' ? AUDIENCE : `${MARK}${namespace.slice(0, MAX_NAMESPACE_LENGTH)}`;
}

export function isAudience(room: string): boolean {
  return room === AUDIENCE || room.startsWith(MARK);
}

/** @returns its room; the audience of its namespace if there is only one */
export function roomOfCounted(counted: string): string {
  if (!counted.startsWith(MARK)) return AUDIENCE;
  const start = counted.indexOf(MARK, 1) + 1;
  const end = start + Number(counted.slice(1, start - 1));
  return end > start ? counted.slice(start, end) : audienceOf(counted.slice(end, counted.indexOf(',', end)));
}
