/** Profiles of a process as a list of call frames: what each has allocated and the process still keeps, or how long each ran. */
import { z } from 'zod';
import { LARGEST_FIGURE } from '../link/bounded-schemas.ts';

/** `interval`: bytes between two samples of a heap, microseconds between two of the CPU, on average. */
export const PROFILE_LIMITS = {
  interval: { heap: 2048, cpu: 250 },
  /** The process ends a profile by itself if nobody does. */
  longestMs: { heap: 30 * 60_000, cpu: 60_000 },
  nodes: 30_000,
  /** Characters of names and files, in all and of each. */
  allText: 1_000_000,
  text: 1000,
};

const text = z.string().max(PROFILE_LIMITS.text);
const figure = z.number().nonnegative().lte(LARGEST_FIGURE);

export const profileKindSchema = z.enum(['heap', 'cpu']);

const nodeSchema = z.object({
  /** Of the function; empty for one without a name. */
  name: text,
  /** Of its file; empty for native code. */
  url: text,
  /** Where the function begins. */
  line: z.int().nonnegative(),
  /** Bytes or microseconds, without those of what it called. */
  self: figure,
  /** Index of the caller; −1 for the root. */
  parent: z.int().gte(-1),
});

export const profileSchema = z
  .object({
    kind: profileKindSchema,
    /** The working directory of the process. */
    folder: text,
    nodes: z.array(nodeSchema).min(1).max(PROFILE_LIMITS.nodes),
    /** CPU time of the process meanwhile, without V8's profiling thread, and of the thread that runs JavaScript, as far as the kernel tells. */
    cpu: z.object({ processUs: figure, threadUs: figure.optional() }).optional(),
  })
  .refine(({ nodes }) => nodes.every(({ parent }, index) => parent < index), 'a caller comes after what it called');

/** What a process answers: the profile if it was taken, or why there is none. */
export const takenSchema = z.object({ profile: profileSchema.optional(), failure: z.string().max(1000).optional() });

export type Profile = z.infer<typeof profileSchema>;
export type ProfileKind = z.infer<typeof profileKindSchema>;
