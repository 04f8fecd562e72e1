/** Every combination of levels several times: the file of a study, and `study.json` with its runs and differences. */
import { z } from 'zod';
import { byName, count, rowsOf } from '../result/shared-schemas.ts';
import { seriesRunSchema, spreadSchema } from './series-schema.ts';

export const levelSchema = z.union([z.string(), z.number(), z.boolean()], {
  error: 'expected text, a number, true or false',
});

export const levelsSchema = z
  .array(levelSchema, { error: 'expected a list of levels, such as [1, 2]' })
  .min(1, 'has no levels')
  .refine((levels) => new Set(levels.map(String)).size === levels.length, 'has the same level twice');

const READY = 'expected a port or an http:// URL';
const port = z.number().int().min(1).max(65_535);

const serverSchema = z.strictObject({
  /** Program and arguments, started in the folder of the study's file. */
  command: z.array(z.string().min(1)).min(1),
  /** Answers when the server is ready: a port on 127.0.0.1, or a URL, with any status below 500. */
  ready: z.union([port, z.url({ protocol: /^https?$/, error: READY })], { error: READY }),
});

const combinationSchema = z.record(z.string(), levelSchema);

/** Settings from the study's file or the command line. */
export const planSchema = z.strictObject({
  /** Path of the scenario, relative to the study's file, or to where the command was typed. */
  scenario: z.string().min(1),
  /**
   * Levels by name: in capitals an environment variable, after `engine.` an option of the engine, `server` one of the
   * servers below, `scenario` a file in place of the one above; otherwise an option of the plugin, with dots.
   */
  vary: z.record(z.string(), levelsSchema).default({}),
  /** Servers of the user's own by name, which the study starts for its runs. */
  servers: z.record(z.string(), serverSchema).default({}),
  /** Levels that do not go together: the combinations that have all levels of an entry are left out. */
  except: z.array(combinationSchema).default([]),
  /** Further arguments of `artillery run`. */
  args: z.array(z.string()).optional(),
  /** Runs of each combination. */
  repeat: z.number().int().positive(),
  /** Ends before `repeat` once a change of that share would be seen in every figure that decides. It is also the margin. */
  detect: z.number().positive().optional(),
  /** Makes the order of runs repeatable. */
  seed: z.number().int().default(1),
});

const runSchema = seriesRunSchema.extend({
  /** From 1; each block has every combination once. A run that did not come to its end can be followed by another of its place. */
  block: count,
  levels: combinationSchema,
});

/** Between one set of runs and the reference, in the figure's own unit. */
const differenceSchema = z.strictObject({
  /**
   * `no-difference`: the whole interval is within the margin, or the same was counted. `inconclusive`: anything else that is neither
   * better nor worse.
   */
  answer: z.preprocess(
    // As documents of earlier versions have it.
    (answer) => (answer === 'cannot-tell' ? 'inconclusive' : answer),
    z.enum(['better', 'worse', 'no-difference', 'inconclusive']),
  ),
  /** Mean minus the reference's mean; null when one of the two was not measured. */
  value: z.number().nullable(),
  /** `value` ÷ the reference's mean; null when that is 0. */
  share: z.number().nullable(),
  /** The 95 % interval of this difference by itself; null where the noise is unknown. */
  low: z.number().nullable(),
  high: z.number().nullable(),
  /** The difference, up or down, that four of five such comparisons would see; null where the noise is unknown. */
  detectable: z.number().nullable().default(null),
  /** Where inconclusive, runs of each side that would decide, if the difference is as large as now; null if unknown, or above 1,000. */
  runsNeeded: z.number().int().nullable().default(null),
  /** Codes of findings that invalidate the figure in runs of either side, which are left out. */
  invalidatedBy: z.array(z.string()).default([]),
  /**
   * The source of the noise estimate: the spread between runs of both sides, or of all combinations with the same level of a study; within
   * single runs, the fit of a line or the broadcasts; counts need none.
   */
  noise: z.enum(['repeats', 'study', 'fit', 'broadcasts', 'none']).nullable(),
});

export const studySchema = z.strictObject({
  schemaVersion: z.literal(2),
  name: z.string(),
  /** The first comment line of the study's file; empty without a file. */
  title: z.string(),
  plan: planSchema,
  /** SHA-256 of the scenario's text. */
  scenarioHash: z.string(),
  startedAt: z.string(),
  /** Number of runs planned. */
  planned: count,
  runs: z.array(runSchema),
  combinations: rowsOf({
    levels: combinationSchema,
    /** Runs that contribute figures, of `plan.repeat`. */
    usable: count,
    /** By the figure's key in the result document. */
    figures: byName(spreadSchema),
  }),
  /** One for each name, each setting of the other names, and each level after the first. */
  differences: rowsOf({
    name: z.string(),
    others: combinationSchema,
    reference: levelSchema,
    level: levelSchema,
    figures: byName(differenceSchema),
  }),
});

export type Difference = z.infer<typeof differenceSchema>;
export type Level = z.infer<typeof levelSchema>;
export type Levels = z.infer<typeof combinationSchema>;
export type StudyServer = z.infer<typeof serverSchema>;
export type Plan = z.infer<typeof planSchema>;
export type Study = z.infer<typeof studySchema>;
