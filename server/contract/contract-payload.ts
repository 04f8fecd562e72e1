import { z } from 'zod';
import type { BroadcastEcho } from '../../protocol/wire/events.ts';

/**
 * Alphabet of payloads. Payloads are pseudo-random, so that compression or shared memory cannot improve a measurement.
 * Each character is a single byte on the wire, because it is ASCII and JSON does not escape it.
 */
const ALPHABET = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .';
/** Maximum number of cached payloads. A run uses one or two sizes. */
const CACHED_SIZES = 4;
/**
 * Maximum size of a cached payload. Larger payloads are generated each time, so that no large object stays in memory.
 */
const MAX_CACHED_BYTES = 2 ** 18;

const texts = new Map<number, string>();
const binaries = new Map<number, Buffer>();

/** Returns a text of this length. Every call returns the same text. */
export function textPayload(sizeBytes: number): string {
  return cached(texts, sizeBytes, () =>
    generate(sizeBytes, (random) => ALPHABET.charCodeAt(random >>> 2)).toString('latin1'),
  );
}

/** Returns a buffer of this size. Every call returns the same shared object, so callers must not write to it. */
export function binaryPayload(sizeBytes: number): Buffer {
  return cached(binaries, sizeBytes, () => generate(sizeBytes, (random) => random));
}

function cached<T>(cache: Map<number, T>, sizeBytes: number, make: () => T): T {
  const known = cache.get(sizeBytes);
  if (known !== undefined) return known;
  const made = make();
  if (cache.size === CACHED_SIZES) cache.clear();
  if (sizeBytes <= MAX_CACHED_BYTES) cache.set(sizeBytes, made);
  return made;
}

/**
 * Generates bytes with a linear congruential generator (constants of Numerical Recipes). The bytes are the same on
 * every machine.
 * @param toByte maps a random byte to a byte of the payload
 */
function generate(sizeBytes: number, toByte: (random: number) => number): Buffer {
  const bytes = Buffer.allocUnsafe(sizeBytes);
  let state = 1;
  for (let at = 0; at < sizeBytes; at++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[at] = toByte(state >>> 24);
  }
  return bytes;
}

/** Maximum length of a room name. It limits memory, because a name is stored as long as its room has members. */
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

/** Returns the room of a `join_room` message; undefined if the message is invalid. */
export function roomOfJoin(payload: unknown): string | undefined {
  return joinSchema.safeParse(payload).data;
}

/** Returns the echo of a broadcast; undefined if the message is invalid. */
export function parseEcho(payload: unknown): Pick<BroadcastEcho, 'seq' | 'sentAtUs'> | undefined {
  return echoSchema.safeParse(payload).data;
}
