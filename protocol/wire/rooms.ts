/**
 * Assigns connections and broadcasts to several Socket.IO rooms, and names these rooms. Assignments are computed from
 * numbers only, so generator and run get the same result without communication.
 */

/** Orders in which the rooms can receive broadcasts: in turn, or at random. */
export const ROOM_ORDERS = ['turn', 'random'] as const;

/**
 * Placeholder in place of a room's name: all receivers of the user's own event. Used if all broadcasts go to the same
 * receivers.
 */
export const ALL_RECEIVERS_ROOM = '';

export interface RoomPlan {
  /** Name of the room, or prefix of the names if there are several rooms. */
  name: string;
  /** Number of rooms, at least 1. */
  count: number;
  /** Number of rooms that each connection joins, at most `count`. */
  perConnection: number;
  order: (typeof ROOM_ORDERS)[number];
  /** Seed of the random order of rooms. */
  seed: number;
}

/** @param index index of the room, from 0 */
export function roomName({ name, count }: RoomPlan, index: number): string {
  return count === 1 ? name : `${name}:${index}`;
}

/**
 * Returns the indices of the rooms that a connection joins, without repetition. Of `count` consecutive connections,
 * each room gets `perConnection`. Each group of `count` connections starts with another room. A proxy that assigns
 * connections to workers in turn would otherwise put all members of a room on the same workers.
 * @param connection number of the connection in the run, from 0
 */
export function roomsOfConnection({ count, perConnection }: RoomPlan, connection: number): number[] {
  const first = (connection % count) * perConnection + scrambled(Math.floor(connection / count));
  return Array.from({ length: perConnection }, (_, index) => (first + index) % count);
}

/** Returns the number of members of each room, for the first `connections` connections. */
export function plannedRoomSizes(plan: RoomPlan, connections: number): number[] {
  const members = new Array<number>(plan.count).fill(0);
  for (let connection = 0; connection < connections; connection++) {
    for (const room of roomsOfConnection(plan, connection)) members[room] = (members[room] as number) + 1;
  }
  return members;
}

/**
 * Returns the index of a broadcast's room and the index of its publishing worker. Workers take turns, also within each
 * room, so that every worker publishes to every room.
 * @param broadcast number of the broadcast, from 0
 */
export function broadcastDestination(
  { count, order, seed }: RoomPlan,
  broadcast: number,
  workers: number,
): { room: number; via: number } {
  const turn = broadcast % count;
  const room = order === 'turn' ? turn : scrambled(scrambled(seed) + broadcast + 1) % count;
  return { room, via: (turn + Math.floor(broadcast / count)) % workers };
}

/** Final mixing step of MurmurHash3. It maps consecutive numbers to pseudo-random 32-bit numbers; 0 stays 0. */
function scrambled(value: number): number {
  let bits = value | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85eb_ca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2_ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

/** Escape character. It marks a key that consists of several parts, and ends the length at the start of such a key. */
const MARK = '\0';
const MAX_NAMESPACE_LENGTH = 200;

/** Room in a namespace: the destination of a broadcast. */
interface Place {
  /** Name of the namespace. It contains no comma, because a comma ends the namespace in a packet. */
  namespace: string;
  /** Name of the room. `ALL_RECEIVERS_ROOM` stands for all receivers in the namespace. */
  room: string;
}

interface OwnBroadcast extends Place {
  id: string;
}

/** Returns a key for a room in a namespace. In the main namespace, the key is the name of the room. */
export function roomKey({ namespace, room }: Place): string {
  if (namespace === '/' && !room.startsWith(MARK)) return room;
  return `${MARK}${namespace.slice(0, MAX_NAMESPACE_LENGTH)},${room}`;
}

/** Inverse function of `roomKey`: returns namespace and room of a key. */
export function parseRoomKey(place: string): Place {
  if (!place.startsWith(MARK)) return { namespace: '/', room: place };
  const comma = place.indexOf(',');
  return { namespace: place.slice(MARK.length, comma), room: place.slice(comma + 1) };
}

/**
 * Returns the key under which a broadcast of the user's own event is counted. The key includes namespace and room,
 * because broadcasts to different rooms can have the same id.
 */
export function ownBroadcastKey({ id, ...where }: OwnBroadcast): string {
  const place = roomKey(where);
  if (place === ALL_RECEIVERS_ROOM && !id.startsWith(MARK)) return id;
  return `${MARK}${place.length}${MARK}${place}${id}`;
}

export function roomKeyOfOwnBroadcast(counted: string): string {
  if (!counted.startsWith(MARK)) return ALL_RECEIVERS_ROOM;
  const start = counted.indexOf(MARK, 1) + 1;
  return counted.slice(start, start + Number(counted.slice(1, start - 1)));
}
