/** What clients send, as far as it keeps the contract: of a bounded length, and numbers that can be counted with. */
import { z } from 'zod';
import type { BroadcastEcho } from '../../protocol/wire/events.ts';

/** Names of rooms are kept for as long as they have members. */
const MAX_ROOM_LENGTH = 256;

const roomSchema = z.string().min(1).max(MAX_ROOM_LENGTH);
const joinSchema = z.union([roomSchema, z.object({ clientKey: roomSchema }).transform(({ clientKey }) => clientKey)]);
const echoSchema = z.object({
  seq: z.number().int().positive(),
  sentAtUs: z.number().nonnegative().max(Number.MAX_SAFE_INTEGER),
});

export const WANTED = {
  room: `expected a room or {clientKey: room}, with at most ${MAX_ROOM_LENGTH} characters`,
  echo: 'expected {seq, sentAtUs, data} as received',
} as const;

/** @returns the room of a `join_room`; undefined if it names none */
export function roomOf(payload: unknown): string | undefined {
  return joinSchema.safeParse(payload).data;
}

/** @returns the echo of a broadcast; undefined if it is none */
export function echoOf(payload: unknown): Pick<BroadcastEcho, 'seq' | 'sentAtUs'> | undefined {
  return echoSchema.safeParse(payload).data;
}
