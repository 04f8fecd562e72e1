/**
 * Schema of `results/search-<scenario>-<what varies>/search.json`: runs at rising levels, and the highest level that
 * held. A level is a number of connections, a rate or another varied number.
 */
import { z } from 'zod';
import { listOfObjects, resultCount } from '../result/shared-schemas.ts';
import { seriesRunSchema } from './series-schema.ts';

const positive = z.number().positive();

export const SEARCHED_QUANTITIES = ['connections', 'rate', 'broadcastsPerSec', 'bytes'] as const;

export const COMPARISON_OPERATORS = ['<=', '>=', '==', '!=', '<', '>'] as const;

export const conditionSchema = z.strictObject({
  /** Key of a number in the result document, with dots between its parts. */
  key: z.string().min(1),
  comparison: z.enum(COMPARISON_OPERATORS),
  value: z.number(),
});

const planSchema = z.strictObject({
  scenario: z.string().min(1),
  /** SHA-256 hash of the scenario's text. */
  scenarioHash: z.string(),
  /** Name of an entry in the scenario's `config.environments`. */
  environment: z.string().nullable(),
  target: z.string(),
  vary: z.enum(SEARCHED_QUANTITIES),
  /**
   * Conditions under which a level (number of connections, or another varied number) breaks. One met condition is
   * enough. Empty for the default rules.
   */
  until: z.array(conditionSchema),
  from: positive,
  to: positive.nullable(),
  /** Factor by which the level rises from run to run, until a level breaks. */
  factor: z.number().gt(1),
  /**
   * Tolerance of the answer, as a share. The distance between the last two levels is half of the tolerance, because
   * runs at the same level differ.
   */
  tolerance: positive,
  /** Number of repeated runs at the level of the answer. */
  repeat: resultCount,
  /** Pause after a run whose level broke, in seconds. The pause is extended if the deployment has not recovered. */
  restSeconds: z.number().nonnegative(),
  /** Share of each limit of a machine that the table of machines leaves free. */
  headroom: z.number().min(0).lt(1),
});

/**
 * Outcome of a run at a level. `breaks`: the deployment failed. `cannotTell`: the generator or its machine was the
 * limit, or the measurement is not valid. `error`: the run did not complete.
 */
const outcomeSchema = z.enum(['holds', 'breaks', 'cannotTell', 'error']);

/** Cause of a failed run. `machine` is the machine that deployment and generator share. */
const blameSchema = z.enum(['deployment', 'generator', 'machine', 'measurement']);

const becauseSchema = z.strictObject({
  /** Code of the finding that is the reason; null if the reason is a condition or a threshold. */
  code: z.string().nullable(),
  text: z.string(),
  /** Whether this reason explains the other reasons in the list. */
  isCause: z.boolean(),
});

const runSchema = seriesRunSchema.extend({
  level: positive,
  /**
   * Purpose of a run. `again` repeats a level that broke once. `control` repeats a level that held, to check that the
   * deployment has recovered.
   */
  purpose: z.enum(['step', 'bisect', 'again', 'control', 'confirm']),
  outcome: outcomeSchema,
  /** Cause of a failed run; null if the level held. */
  blame: blameSchema.nullable(),
  /**
   * Reasons for the outcome, the most important first. If the level held, these are findings that do not affect the
   * answer.
   */
  because: z.array(becauseSchema),
});

const endSchema = z.enum([
  /** The search found an answer within the tolerance. */
  'found',
  /** `to` held. */
  'highest',
  /** No level (number of connections or rate) held. */
  'none',
  /** Levels that first held broke later: repeatedly after another level had broken, or at more and more levels. */
  'recovery',
  /** The doctor allows no higher level on this machine or with the running stack. */
  'doctor',
  'generator',
  'machine',
  'measurement',
  'error',
]);

const wallSchema = z.strictObject({
  name: z.enum(['held', 'memory', 'cpu']),
  /** Maximum number of connections that this limit allows on a machine, without headroom. Null if unknown. */
  max: resultCount.nullable(),
  /** How the number was computed, or the reason why it is unknown. */
  assumption: z.string(),
});

const sizingSchema = z.strictObject({
  /**
   * Whether fewer machines could be sufficient. This is the case if no level broke, or if a level broke for another
   * reason than the number of connections.
   */
  atMost: z.boolean(),
  walls: z.array(wallSchema),
  /** Name of the lowest limit of a machine, which determines `perMachine`. */
  decides: wallSchema.shape.name,
  perMachine: resultCount,
  rows: listOfObjects({
    users: resultCount,
    machines: resultCount,
    /** Memory that each machine uses, in bytes; null if unknown. */
    memoryBytes: z.number().nullable(),
    idleCores: z.number().nullable(),
    /** Seconds in which all users of a machine can reconnect, with the CPU that the headroom allows. */
    reconnectSeconds: z.number().nullable(),
  }),
});

export const searchSchema = z.strictObject({
  schemaVersion: z.literal(3),
  plan: planSchema,
  startedAt: z.string(),
  runs: z.array(runSchema),
  answer: z.strictObject({
    sentence: z.string(),
    /** Reason for the end of the search; null while it runs. */
    end: endSchema.nullable(),
    /** Highest level that held below all broken levels; null if no level held. */
    held: positive.nullable(),
    /** Number of runs at the level `held` that held. */
    heldRuns: resultCount,
    /** Number of runs at this level. Broken control runs are not counted. */
    runs: resultCount,
    /** Lowest level that broke, or the level at which the generator reached its limit; null if there is neither. */
    broke: positive.nullable(),
    /**
     * Reasons for the answer, the strongest first: findings at the broken level, or the reason why the search ended.
     */
    evidence: z.array(becauseSchema),
  }),
  /** Limit that ended the search before a run; null if no limit did. */
  limit: z.strictObject({ name: z.string(), max: resultCount, raise: z.string() }).nullable(),
  /**
   * Number of machines for a number of users. Null if no level held connections, or if something other than connections
   * was varied.
   */
  sizing: sizingSchema.nullable(),
});

export type SearchedQuantity = (typeof SEARCHED_QUANTITIES)[number];
export type FigureCondition = z.infer<typeof conditionSchema>;
export type SearchPlan = z.infer<typeof planSchema>;
export type SearchRun = z.infer<typeof runSchema>;
export type SearchRunOutcome = z.infer<typeof outcomeSchema>;
export type SearchRunReason = z.infer<typeof becauseSchema>;
export type Blame = z.infer<typeof blameSchema>;
export type SearchEnd = z.infer<typeof endSchema>;
export type MachineSizing = z.infer<typeof sizingSchema>;
export type SizingLimit = z.infer<typeof wallSchema>;
export type SearchResult = z.infer<typeof searchSchema>;
