/**
 * Building blocks of the link's message schemas. Messages between hosts are parsed by their schemas, which bound all numbers and lengths,
 * because another host's messages are untrusted.
 */
import { z } from 'zod';
import type { InstantUs } from '../base/clock/instants.ts';

/** Limit of bytes, times and counts of other programs. Kernels write "no limit" as a larger number. */
export const LARGEST_FIGURE = 2 ** 63;
/** Limit of counts, small enough that sums over all hosts are exact. */
const LARGEST = 2 ** 46;
/** Limit of entries in a list or record, several times those of any run. */
const MAX_ENTRIES = 100_000;

/** Checks ranges only; the verdict checks that sums agree. */
export const count = z.number().gte(-LARGEST).lte(LARGEST);
/** A number that code loops or allocates by, such as that of a phase. */
export const index = z.int().nonnegative().lte(10_000);
/** Microseconds; monotonic clocks of different hosts can be years apart. */
export const instant: z.ZodType<InstantUs> = z
  .number()
  .gte(-(2 ** 53))
  .lte(2 ** 53);
export const name = z.string().max(1000);
/** One or several sentences, such as the mistakes in a scenario. */
export const sentence = z.string().max(2 ** 16);
export const list = <T extends z.ZodType>(of: T) => z.array(of).max(MAX_ENTRIES);
/** A record by cause, worker or other name. */
export const byName = <T extends z.ZodType>(of: T) =>
  z.record(name, of).refine((all) => Object.keys(all).length <= MAX_ENTRIES, 'too many names');
export const counts = byName(count);

/** Returns an object schema with a field for each name. */
export function each<const Name extends string, T extends z.ZodType>(names: readonly Name[], of: T) {
  return z.object(Object.fromEntries(names.map((field) => [field, of])) as Record<Name, T>);
}
