/**
 * Profile of a process as a list of call frames. Each frame has the number of allocated bytes that are still in use, or
 * its CPU time.
 */
import { z } from 'zod';
import { LARGEST_FIGURE } from '../link/bounded-schemas.ts';

/** `interval`: mean distance between two samples, in bytes (heap) or microseconds (CPU). */
export const PROFILE_LIMITS = {
  interval: { heap: 2048, cpu: 250 },
  /** Time after which a process ends a profile by itself. */
  longestMs: { heap: 30 * 60_000, cpu: 60_000 },
  nodes: 30_000,
  /** Maximum number of characters in the names of functions and files: for all together, and for each one. */
  allText: 1_000_000,
  text: 1000,
};

const text = z.string().max(PROFILE_LIMITS.text);
const figure = z.number().nonnegative().lte(LARGEST_FIGURE);

export const profileKindSchema = z.enum(['heap', 'cpu']);

const nodeSchema = z.object({
  /** Name of the function; empty if anonymous. */
  name: text,
  /** URL of the function's file; empty for native code. */
  url: text,
  /** Line of the file on which the function begins. */
  line: z.int().nonnegative(),
  /** Bytes or microseconds of the function itself, without the functions that it calls. */
  self: figure,
  /** Index of the caller in the list of frames; −1 for the root. */
  parent: z.int().gte(-1),
});

const profileSchema = z
  .object({
    kind: profileKindSchema,
    /** Working directory of the process. */
    folder: text,
    nodes: z.array(nodeSchema).min(1).max(PROFILE_LIMITS.nodes),
    /**
     * CPU time during the profile: of the process without V8's profiling thread, and of the JavaScript thread if the
     * kernel reports it.
     */
    cpu: z.object({ processUs: figure, threadUs: figure.optional() }).optional(),
  })
  .refine(
    ({ nodes }) => nodes.every(({ parent }, index) => parent < index),
    'a caller comes after the function that it called',
  );

/** Reply of a process: the profile, or the reason for a failure. */
export const profileReplySchema = z.object({
  profile: profileSchema.optional(),
  failure: z.string().max(1000).optional(),
});

export type V8Profile = z.infer<typeof profileSchema>;
export type ProfileKind = z.infer<typeof profileKindSchema>;
