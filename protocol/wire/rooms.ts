/**
 * Assigns connections and broadcasts to several rooms. Both assignments are computed from numbers only, so that generator and run agree
 * without communication.
 */

/** Order in which broadcasts go to the rooms. */
export const ROOM_ORDERS = ['turn', 'random'] as const;

/** Placeholder for a room: all receivers of the user's own event, if all its broadcasts go to the same ones. */
export const AUDIENCE = '';

export interface RoomPlan {
  /** Name of the room, or the prefix of several. */
  name: string;
  /** Number of rooms, at least 1. */
  count: number;
  /** Rooms that each connection joins, up to `count`. */
  perConnection: number;
  order: (typeof ROOM_ORDERS)[number];
  /** Seed of the random order. */
  seed: number;
}

/** @param index from 0 */
export function roomName({ name, count }: RoomPlan, index: number): string {
  return count === 1 ? name : `${name}:${index}`;
}

/**
 * Returns the indices of the rooms that a connection joins, all different. Of `count` consecutive connections, each room gets
 * `perConnection`. Each such group starts at another room, because a proxy that assigns connections to workers in turn would otherwise put
 * all members of a room on the same workers.
 * @param connection number of the connection in the run, from 0
 */
export function roomsOf({ count, perConnection }: RoomPlan, connection: number): number[] {
  const first = (connection % count) * perConnection + scrambled(Math.floor(connection / count));
  return Array.from({ length: perConnection }, (_, index) => (first + index) % count);
}

/** Returns the number of members of each room for the first `connections` connections. */
export function plannedMembers(plan: RoomPlan, connections: number): number[] {
  const members = new Array<number>(plan.count).fill(0);
  for (let connection = 0; connection < connections; connection++) {
    for (const room of roomsOf(plan, connection)) members[room] = (members[room] as number) + 1;
  }
  return members;
}

/**
 * Returns the indices of a broadcast's room and of its publishing worker. Workers take turns, also for each room, so that no worker's
 * members are always local.
 * @param broadcast number of the broadcast, from 0
 */
export function destinationOf(
  { count, order, seed }: RoomPlan,
  broadcast: number,
  workers: number,
): { room: number; via: number } {
  const turn = broadcast % count;
  const room = order === 'turn' ? turn : scrambled(scrambled(seed) + broadcast + 1) % count;
  return { room, via: (turn + Math.floor(broadcast / count)) % workers };
}

/** MurmurHash3's finalizer: maps consecutive numbers to pseudo-random 32-bit numbers; 0 stays 0. */
function scrambled(value: number): number {
  let bits = value | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85eb_ca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2_ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
