/** The rooms that an own event goes to, as the fleets know them when the run begins to watch. */
import { crc32 } from 'node:zlib';
import { CapacityError } from '../../../protocol/errors.ts';
import type { Sightings } from '../../../protocol/link/sightings.ts';
import type { Delivery } from '../../script/settings.ts';

/** As in each process: beyond that, not all that have a member name a room. */
const MAX_ROOMS = 1000;

/**
 * @returns by place, their members, over all processes; of many rooms, a random part
 * @throws CapacityError DELIVERY_UNMATCHED if no connection is in any
 */
export function roomsOf(sightings: Sightings[], { audience }: Delivery): ReadonlyMap<string, number> {
  const members = new Map<string, number>();
  for (const [room, count] of sightings.flatMap(({ rooms = [] }) => rooms))
    members.set(room, (members.get(room) ?? 0) + count);
  if (audience && members.size === 0) {
    throw new CapacityError(
      'DELIVERY_UNMATCHED',
      'no connection is in any room: what `delivery.audience.client` names does not exist',
      'name a variable that the flow sets before it holds, or the place of the room in the event `delivery.join`',
    );
  }
  return new Map([...members].sort(([one], [other]) => crc32(one) - crc32(other)).slice(0, MAX_ROOMS));
}
