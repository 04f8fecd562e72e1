/** Parses what clients send under the wire contract. */
import { z } from 'zod';
import type { BroadcastEcho } from '../../protocol/wire/events.ts';

/** Limits the memory of room names, which stay as long as the rooms have members. */
const MAX_ROOM_LENGTH = 256;

const roomSchema = z.string().min(1).max(MAX_ROOM_LENGTH);
const joinSchema = z.union([roomSchema, z.object({ clientKey: roomSchema }).transform(({ clientKey }) => clientKey)]);
const echoSchema = z.object({
  seq: z.number().int().positive(),
  sentAtUs: z.number().nonnegative().max(Number.MAX_SAFE_INTEGER),
});

export const EXPECTED_PAYLOADS = {
  room: `expected a room or {clientKey: room}, with at most ${MAX_ROOM_LENGTH} characters`,
  echo: 'expected {seq, sentAtUs, data} as received',
} as const;

/** Returns the room of a `join_room`; undefined if the payload is invalid. */
export function roomOf(payload: unknown): string | undefined {
  return joinSchema.safeParse(payload).data;
}

/** Returns the echo of a broadcast; undefined if the payload is invalid. */
export function echoOf(payload: unknown): Pick<BroadcastEcho, 'seq' | 'sentAtUs'> | undefined {
  return echoSchema.safeParse(payload).data;
}
