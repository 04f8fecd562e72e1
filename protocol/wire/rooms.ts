/**
 * Many rooms in place of one: which of them each connection joins, and to which each broadcast goes. Both follow from numbers
 * alone, so that generator and run agree without a word.
 */

/** The order in which broadcasts go to the rooms. */
export const ROOM_ORDERS = ['turn', 'random'] as const;

/** In place of a room: the receivers of an own event, where all its broadcasts go to the same. */
export const AUDIENCE = '';

export interface RoomPlan {
  /** What the flow joins; with one room, its name. */
  name: string;
  /** At least 1. */
  count: number;
  /** Rooms that each connection joins, up to `count`. */
  perConnection: number;
  order: (typeof ROOM_ORDERS)[number];
  /** Makes the random order repeatable. */
  seed: number;
}

/** @param index from 0 */
export function roomName({ name, count }: RoomPlan, index: number): string {
  return count === 1 ? name : `${name}:${index}`;
}

/**
 * Among `count` connections in a row, each room gets `perConnection`. Each such group begins at another room, since a proxy
 * that gives its workers connections in turn would otherwise put all members of a room on the same ones.
 * @param connection its number among all connections of the run, from 0
 * @returns different rooms, by index
 */
export function roomsOf({ count, perConnection }: RoomPlan, connection: number): number[] {
  const first = (connection % count) * perConnection + scrambled(Math.floor(connection / count));
  return Array.from({ length: perConnection }, (_, index) => (first + index) % count);
}

/** @param connections from number 0 on @returns for each room, how many of them are its members */
export function plannedMembers(plan: RoomPlan, connections: number): number[] {
  const members = new Array<number>(plan.count).fill(0);
  for (let connection = 0; connection < connections; connection++) {
    for (const room of roomsOf(plan, connection)) members[room] = (members[room] as number) + 1;
  }
  return members;
}

/**
 * The workers take turns, and each room's publishers do, too, so that no worker's members are always local.
 * @param broadcast from 0
 * @returns its room, and the worker that publishes it, by index
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

/** MurmurHash3's finalizer: numbers in a row become 32 bits that look random; 0 stays 0. */
function scrambled(value: number): number {
  let bits = value | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85eb_ca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2_ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
