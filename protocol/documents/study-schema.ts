/**
 * Schemas of a study: its settings file, and `study.json` with runs and differences. A study runs each combination of
 * levels (values of the varied settings) several times.
 */
import { z } from 'zod';
import { listOfObjects, recordOf, resultCount } from '../result/shared-schemas.ts';
import { seriesRunSchema, spreadSchema } from './series-schema.ts';

export const studyLevelSchema = z.union([z.string(), z.number(), z.boolean()], {
  error: 'expected text, a number, true or false',
});

export const studyLevelsSchema = z
  .array(studyLevelSchema, { error: 'expected a list of levels, such as [1, 2]' })
  .min(1, 'has no levels')
  .refine((levels) => new Set(levels.map(String)).size === levels.length, 'has the same level twice');

const READY = 'expected a port or an http:// URL';
const port = z.number().int().min(1).max(65_535);

const serverSchema = z.strictObject({
  /** Program and arguments of the server command. The working directory is the folder of the study's file. */
  command: z.array(z.string().min(1)).min(1),
  /**
   * How to check that the server is ready: a port of 127.0.0.1 that accepts connections, or a URL that responds with a
   * status below 500.
   */
  ready: z.union([port, z.url({ protocol: /^https?$/, error: READY })], { error: READY }),
  /** Environment variables of the server, and of the runs that measure it. */
  env: z.record(z.string(), z.string()).optional(),
});

const combinationSchema = z.record(z.string(), studyLevelSchema);

/** Settings of a study, from its file or the command line. */
export const studyPlanSchema = z.strictObject({
  /** Path of the scenario, relative to the study's file or, without a file, to the working directory. */
  scenario: z.string().min(1),
  /**
   * Levels (values) of each varied setting, by name of the setting. A name in capitals is an environment variable.
   * `engine.…` is an option of the engine. `server` selects an entry of `servers`. `scenario` is a file that replaces
   * the scenario. Any other name is an option of the plugin, with dots between the keys.
   */
  vary: z.record(z.string(), studyLevelsSchema).default({}),
  /** User's own servers by name. The study starts them for its runs. */
  servers: z.record(z.string(), serverSchema).default({}),
  /** Combinations that are not run: every combination that has all levels of an entry. */
  except: z.array(combinationSchema).default([]),
  /** Number of hosts that generate the load. Missing if one host runs everything. */
  hosts: z.number().int().positive().optional(),
  /** Additional arguments of `artillery run`. */
  args: z.array(z.string()).optional(),
  /** Number of runs of each combination. */
  repeat: z.number().int().positive(),
  /**
   * Size of a change, as a share, for stopping early: the study ends before `repeat` when it would detect such a change
   * in every primary figure. It is also the margin for `no-difference`.
   */
  detect: z.number().positive().optional(),
  /** Seed of the random order of runs. */
  seed: z.number().int().default(1),
});

const runSchema = seriesRunSchema.extend({
  /**
   * Number of the block to which the run belongs, from 1. A block contains every combination once. A run that did not
   * complete can be repeated within its block.
   */
  block: resultCount,
  levels: combinationSchema,
});

/** Difference of a figure between a set of runs and the reference, in the unit of the figure. */
const differenceSchema = z.strictObject({
  /**
   * Answer of the comparison. `no-difference`: the whole interval is within the margin, or the counts are equal.
   * `inconclusive`: none of the other answers is certain.
   */
  answer: z.preprocess(
    // Documents of earlier versions use the name `cannot-tell`.
    (answer) => (answer === 'cannot-tell' ? 'inconclusive' : answer),
    z.enum(['better', 'worse', 'no-difference', 'inconclusive']),
  ),
  /** Mean of the figure minus the mean of the reference; null if one of them was not measured. */
  value: z.number().nullable(),
  /** `value` divided by the reference's mean; null if the mean is 0. */
  share: z.number().nullable(),
  /**
   * 95 % interval of this difference (`low` to `high`), not corrected for multiple comparisons; null if the noise is
   * unknown.
   */
  low: z.number().nullable(),
  high: z.number().nullable(),
  /**
   * Smallest difference, in either direction, that 80 % of such comparisons would detect. Null if the noise is unknown.
   */
  detectable: z.number().nullable().default(null),
  /**
   * For an inconclusive answer: number of runs per side that would decide, if the difference stays the same. Null if
   * unknown or above 1,000.
   */
  runsNeeded: z.number().int().nullable().default(null),
  /** Codes of findings that invalidate the figure in some runs. The figure is left out for these runs. */
  invalidatedBy: z.array(z.string()).default([]),
  /**
   * Source of the noise estimate. `repeats`: spread between runs of both sides. `study`: spread between runs of all
   * combinations with the same level. `fit` and `broadcasts`: error within single runs. `none`: counts.
   */
  noise: z.enum(['repeats', 'study', 'fit', 'broadcasts', 'none']).nullable(),
});

export const studySchema = z.strictObject({
  schemaVersion: z.literal(2),
  name: z.string(),
  /** First comment line of the study's file; empty if there is no file. */
  title: z.string(),
  plan: studyPlanSchema,
  /** SHA-256 hash of the scenario's text. */
  scenarioHash: z.string(),
  startedAt: z.string(),
  /** Number of runs that are planned for the study. */
  planned: resultCount,
  runs: z.array(runSchema),
  combinations: listOfObjects({
    levels: combinationSchema,
    /** Number of runs whose figures can be used. */
    usable: resultCount,
    /** Spread of each figure, by its key in the result document. */
    figures: recordOf(spreadSchema),
  }),
  /** Differences: an entry for each setting, each combination of the other settings, and each level after the first. */
  differences: listOfObjects({
    name: z.string(),
    others: combinationSchema,
    reference: studyLevelSchema,
    level: studyLevelSchema,
    figures: recordOf(differenceSchema),
  }),
});

export type FigureDifference = z.infer<typeof differenceSchema>;
export type StudyLevel = z.infer<typeof studyLevelSchema>;
export type LevelCombination = z.infer<typeof combinationSchema>;
export type StudyServer = z.infer<typeof serverSchema>;
export type StudyPlan = z.infer<typeof studyPlanSchema>;
export type Study = z.infer<typeof studySchema>;
