/** What the run will do, for an engine in one of Artillery's workers. The main thread has validated it. */
import { z } from 'zod';
import { RELEASE_PARTS } from '../../protocol/link/messages.ts';
import type { RoomPlan } from '../../protocol/rooms.ts';
import { type DeliveryOptions, deliverySchema } from './options/delivery-options.ts';
import { type Environment, optionsSchema, type PluginOptions } from './options/plugin-options.ts';
import { validVariables } from './options/variables.ts';
import { PLUGIN, type Script } from './script.ts';

const roomOptionsSchema = z.object({ room: optionsSchema.shape.room, rooms: optionsSchema.shape.rooms });

/** @returns its broadcasts; undefined without the plugin */
export function plannedBroadcasts(
  script: Script,
  env: NodeJS.ProcessEnv,
): { count: number; bytes: number } | undefined {
  const options = script.config.plugins?.[PLUGIN];
  if (options === undefined) return undefined;
  const { broadcasts, overTime } = (options ?? {}) as { broadcasts?: object; overTime?: object };
  const { count, bytes, byConnections } = optionsSchema.shape.broadcasts.parse(broadcasts);
  if (overTime !== undefined) return { count: 0, bytes };
  const withAll = validVariables(env).BROADCASTS ?? count;
  return { count: withAll + (RELEASE_PARTS - 1) * byConnections, bytes };
}

/** @returns the event of the server's own that it counts */
export function plannedDelivery(script: Script): DeliveryOptions | undefined {
  const options = script.config.plugins?.[PLUGIN] as { delivery?: unknown } | null | undefined;
  return options?.delivery === undefined ? undefined : deliverySchema.parse(options.delivery);
}

/** @returns the rooms over which it spreads connections; undefined if there is one, or no plugin */
export function plannedRooms(script: Script, env: NodeJS.ProcessEnv): RoomPlan | undefined {
  const options = script.config.plugins?.[PLUGIN];
  if (options === undefined) return undefined;
  const plan = roomPlanOf(roomOptionsSchema.parse(options ?? {}), validVariables(env));
  return plan.count > 1 ? plan : undefined;
}

export function roomPlanOf(
  { room: name, rooms }: Pick<PluginOptions, 'room' | 'rooms'>,
  { ROOMS }: Environment,
): RoomPlan {
  return { name, ...rooms, count: ROOMS ?? rooms.count };
}
