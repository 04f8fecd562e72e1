/** Where the run's own receivers are. */
import { type RoomPlan, roomName } from '../../../protocol/rooms.ts';

/** Probe and sentinel join one room only: in each, they would be a large part of its members. */
export function receiversRoom(rooms: RoomPlan): string {
  return roomName(rooms, 0);
}
