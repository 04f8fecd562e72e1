/** Schemas of a study, which runs every combination of levels several times: its file, and `study.json` with runs and differences. */
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
  /** Program and arguments; started in the folder of the study's file. */
  command: z.array(z.string().min(1)).min(1),
  /** Readiness check: a port of 127.0.0.1 that accepts connections, or a URL that answers with a status below 500. */
  ready: z.union([port, z.url({ protocol: /^https?$/, error: READY })], { error: READY }),
});

const combinationSchema = z.record(z.string(), levelSchema);

/** Settings from the study's file or the command line. */
export const planSchema = z.strictObject({
  /** Path of the scenario, relative to the study's file or to the working directory. */
  scenario: z.string().min(1),
  /**
   * Levels by name. A name in capitals is an environment variable, `engine.…` an option of the engine, `server` a server below, `scenario`
   * a file that replaces the scenario above; any other is a dotted option of the plugin.
   */
  vary: z.record(z.string(), levelsSchema).default({}),
  /** The user's own servers by name, which the study starts for its runs. */
  servers: z.record(z.string(), serverSchema).default({}),
  /** Excluded levels: combinations with all levels of an entry are left out. */
  except: z.array(combinationSchema).default([]),
  /** Number of hosts that generate the load; missing if one host does everything. */
  hosts: z.number().int().positive().optional(),
  /** Further arguments of `artillery run`. */
  args: z.array(z.string()).optional(),
  /** Number of runs of each combination. */
  repeat: z.number().int().positive(),
  /** Ends before `repeat` once a change of this share would be detected in every primary figure. Also the margin for `no-difference`. */
  detect: z.number().positive().optional(),
  /** Seed of the order of runs. */
  seed: z.number().int().default(1),
});

const runSchema = seriesRunSchema.extend({
  /** Number of the block, from 1; each block has every combination once. A run that did not complete can be repeated in its block. */
  block: count,
  levels: combinationSchema,
});

/** Difference between a set of runs and the reference, in the figure's unit. */
const differenceSchema = z.strictObject({
  /**
   * `no-difference`: the whole interval is within the margin, or the counts are equal. `inconclusive`: neither that nor better nor worse.
   */
  answer: z.preprocess(
    // Name in documents of earlier versions.
    (answer) => (answer === 'cannot-tell' ? 'inconclusive' : answer),
    z.enum(['better', 'worse', 'no-difference', 'inconclusive']),
  ),
  /** Mean minus the reference's mean; null if either was not measured. */
  value: z.number().nullable(),
  /** `value` ÷ the reference's mean; null when that is 0. */
  share: z.number().nullable(),
  /** 95 % interval of this single difference; null if the noise is unknown. */
  low: z.number().nullable(),
  high: z.number().nullable(),
  /** Difference in either direction that 80 % of such comparisons would detect; null if the noise is unknown. */
  detectable: z.number().nullable().default(null),
  /** If inconclusive: runs of each side needed to decide, assuming the same difference; null if unknown or above 1,000. */
  runsNeeded: z.number().int().nullable().default(null),
  /** Codes of findings that invalidate the figure in runs of either side; these runs are left out. */
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
  /** First comment line of the study's file; empty without a file. */
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
    /** Number of runs with usable figures, of `plan.repeat`. */
    usable: count,
    /** Spread by the figure's key in the result document. */
    figures: byName(spreadSchema),
  }),
  /** One entry for each name, each combination of the other names, and each level after the first. */
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
