/** Spreads the connections that join the plan's room over its rooms. */
import type { JoinRoom } from '../../../../protocol/wire/events.ts';
import { type RoomPlan, roomName, roomsOf } from '../../../../protocol/wire/rooms.ts';
import type { EmitCommand } from '../../fleet-messages.ts';

export class RoomShare {
  readonly #plan: RoomPlan;
  readonly #fleet: { index: number; of: number };
  readonly #firstId: number;

  /**
   * @param fleet fleet whose connections have every `of`-th number of the run, from `index` on
   * @param firstId first connection that counts
   */
  constructor(plan: RoomPlan, fleet: { index: number; of: number }, firstId: number) {
    this.#plan = plan;
    this.#fleet = fleet;
    this.#firstId = firstId;
  }

  /** @param join join of any room @returns the joins to send instead; only the first answers the engine's request */
  joinsOf(join: EmitCommand): EmitCommand[] {
    const [payload, ...others] = join.args as [JoinRoom | undefined];
    const asked = typeof payload === 'string' ? payload : payload?.clientKey;
    if (asked !== this.#plan.name) return [join];
    const connection = (join.id - this.#firstId) * this.#fleet.of + this.#fleet.index;
    return roomsOf(this.#plan, connection).map((index, nth) => {
      const room = roomName(this.#plan, index);
      const renamed = typeof payload === 'string' ? room : { ...payload, clientKey: room };
      const { requestId, ...command } = join;
      return { ...command, args: [renamed, ...others], ...(nth === 0 && requestId !== undefined && { requestId }) };
    });
  }
}
