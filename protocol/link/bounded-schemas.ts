/**
 * Building blocks for schemas of messages between a run and its engines. Messages from another host are untrusted, so
 * the schemas limit all numbers and lengths.
 */
import { z } from 'zod';
import type { InstantUs } from '../base/clock/instants.ts';

/** Maximum of bytes, times and counts that other programs report. Kernels use a larger number for "no limit". */
export const LARGEST_FIGURE = 2 ** 63;
/** Maximum value of a count. With it, sums over all hosts are still exact. */
const LARGEST = 2 ** 46;
/** Maximum number of entries in a list or record, several times that of any run. */
const MAX_ENTRIES = 100_000;

/** Count within a range. The schema does not check that sums agree; the verdict of the run does. */
export const boundedCount = z.number().gte(-LARGEST).lte(LARGEST);
/** Number of a phase or a similar small number. The limit is low, because code loops or allocates memory with it. */
export const boundedIndex = z.int().nonnegative().lte(10_000);
/** Point in time in microseconds. The monotonic clocks of two hosts can be years apart. */
export const boundedInstant: z.ZodType<InstantUs> = z
  .number()
  .gte(-(2 ** 53))
  .lte(2 ** 53);
export const boundedName = z.string().max(1000);
/** Text that consists of one or several sentences, such as a list of mistakes in a scenario. */
export const boundedText = z.string().max(2 ** 16);
export const boundedList = <T extends z.ZodType>(of: T) => z.array(of).max(MAX_ENTRIES);
/** Record with a limited number of keys, such as causes or names of workers. */
export const boundedRecord = <T extends z.ZodType>(of: T) =>
  z.record(boundedName, of).refine((all) => Object.keys(all).length <= MAX_ENTRIES, 'too many names');
export const boundedCounts = boundedRecord(boundedCount);

/** Returns the schema of an object with one field for each name. */
export function objectWithKeys<const Name extends string, T extends z.ZodType>(names: readonly Name[], of: T) {
  return z.object(Object.fromEntries(names.map((field) => [field, of])) as Record<Name, T>);
}
