/**
 * Spreads connections over the rooms of the run: replaces each join of the planned room by joins of the rooms that
 * belong to the connection.
 */
import type { JoinRoomMessage } from '../../../../protocol/wire/events.ts';
import { type RoomPlan, roomName, roomsOfConnection } from '../../../../protocol/wire/rooms.ts';
import type { EmitCommand } from '../../fleet-messages.ts';

export class RoomShare {
  readonly #plan: RoomPlan;
  readonly #fleet: { index: number; of: number };
  readonly #firstId: number;

  /**
   * Prepares to spread connections over rooms.
   * @param fleet position of the fleet: it holds every `of`-th connection of the run, starting at `index`
   * @param firstId number of the first connection of the run
   */
  constructor(plan: RoomPlan, fleet: { index: number; of: number }, firstId: number) {
    this.#plan = plan;
    this.#fleet = fleet;
    this.#firstId = firstId;
  }

  /**
   * Replaces a join by joins of the rooms that belong to the connection.
   * @param join join of any room
   * @returns the joins to send; only the first one answers the engine's request
   */
  joinsOf(join: EmitCommand): EmitCommand[] {
    const [payload, ...others] = join.args as [JoinRoomMessage | undefined];
    const asked = typeof payload === 'string' ? payload : payload?.clientKey;
    if (asked !== this.#plan.name) return [join];
    const connection = (join.id - this.#firstId) * this.#fleet.of + this.#fleet.index;
    return roomsOfConnection(this.#plan, connection).map((index, nth) => {
      const room = roomName(this.#plan, index);
      const renamed = typeof payload === 'string' ? room : { ...payload, clientKey: room };
      const { requestId, ...command } = join;
      return { ...command, args: [renamed, ...others], ...(nth === 0 && requestId !== undefined && { requestId }) };
    });
  }
}
