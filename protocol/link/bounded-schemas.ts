/**
 * The parts that messages of the link are made of. Between hosts, each message is parsed by its schema: what another host sends
 * is finite and no longer than this, whoever wrote it.
 */
import { z } from 'zod';
import type { InstantUs } from '../base/clock/instants.ts';
import { isEncodedHistogram } from '../base/histogram.ts';

/** Bytes, times and counts of any other program; a kernel writes "no limit" as a larger one. */
export const LARGEST_FIGURE = 2 ** 63;
/** Small enough that sums over all hosts stay exact. */
const LARGEST = 2 ** 46;
/** In a list, or a table by name: several times what any run has. */
const MOST_ENTRIES = 100_000;

/** Whether an account foots is for the verdict to say, so that a count may also be wrong, but never out of range. */
export const count = z.number().gte(-LARGEST).lte(LARGEST);
/** Where a wrong number would cost time or memory, such as a phase's. */
export const index = z.int().nonnegative().lte(10_000);
/** Microseconds: monotonic clocks of different hosts can be years apart. */
export const instant: z.ZodType<InstantUs> = z
  .number()
  .gte(-(2 ** 53))
  .lte(2 ** 53);
export const name = z.string().max(1000);
/** One or more: a scenario can have many mistakes. */
export const sentence = z.string().max(2 ** 16);
/** An HDR histogram, compressed base64. */
export const histogram = z
  .string()
  .max(2 ** 17)
  .refine(isEncodedHistogram, 'expected a histogram');

export const list = <T extends z.ZodType>(of: T) => z.array(of).max(MOST_ENTRIES);
/** Something for each cause, or worker. */
export const byName = <T extends z.ZodType>(of: T) =>
  z.record(name, of).refine((all) => Object.keys(all).length <= MOST_ENTRIES, 'too many names');
export const counts = byName(count);

/** @returns one field for each name */
export function each<const Name extends string, T extends z.ZodType>(names: readonly Name[], of: T) {
  return z.object(Object.fromEntries(names.map((one) => [one, of])) as Record<Name, T>);
}
