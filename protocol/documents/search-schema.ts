/** `results/search-<scenario>-<what varies>/search.json`: runs at rising levels, and the highest level that held. */
import { z } from 'zod';
import { count, rowsOf } from '../result/shared-schemas.ts';
import { seriesRunSchema } from './series-schema.ts';

const positive = z.number().positive();

export const VARIED = ['connections', 'rate', 'broadcastsPerSec', 'bytes'] as const;

export const COMPARISONS = ['<=', '>=', '==', '!=', '<', '>'] as const;

export const conditionSchema = z.strictObject({
  /** Dotted path of a number in the result document. */
  key: z.string().min(1),
  comparison: z.enum(COMPARISONS),
  value: z.number(),
});

const planSchema = z.strictObject({
  scenario: z.string().min(1),
  /** SHA-256 of the scenario's text. */
  scenarioHash: z.string(),
  /** Name in the scenario's `config.environments`. */
  environment: z.string().nullable(),
  target: z.string(),
  vary: z.enum(VARIED),
  /** A level breaks if any of these is met; empty for the default rules. */
  until: z.array(conditionSchema),
  from: positive,
  to: positive.nullable(),
  /** Factor between levels until one breaks. */
  factor: z.number().gt(1),
  /** Allowed error of the answer, as a share. Levels are tried to half of it, because runs at the same level differ. */
  tolerance: positive,
  /** Number of further runs at the answer's level. */
  repeat: count,
  /** Pause after a run that broke; extended if the deployment has not recovered by then. */
  restSeconds: z.number().nonnegative(),
  /** Share of each limit that the sizing table leaves free. */
  headroom: z.number().min(0).lt(1),
});

/**
 * `breaks`: because of the deployment. `cannotTell`: the generator or its machine was the limit, or the measurement is not valid. `error`:
 * the run did not complete.
 */
const outcomeSchema = z.enum(['holds', 'breaks', 'cannotTell', 'error']);

/** Owner of the limit; `machine` is shared by deployment and generator. */
const blameSchema = z.enum(['deployment', 'generator', 'machine', 'measurement']);

const becauseSchema = z.strictObject({
  /** Code of the finding; null for a condition or a threshold. */
  code: z.string().nullable(),
  text: z.string(),
  /** Whether it explains the others. */
  isCause: z.boolean(),
});

const runSchema = seriesRunSchema.extend({
  level: positive,
  /** `again`: repeats a level that broke once. `control`: repeats a level that held, to check whether the deployment has recovered. */
  purpose: z.enum(['step', 'bisect', 'again', 'control', 'confirm']),
  outcome: outcomeSchema,
  /** Owner of the limit that the run reached; null if the level held. */
  blame: blameSchema.nullable(),
  /** Reasons, most important first; for a level that held, doubts that do not affect the answer. */
  because: z.array(becauseSchema),
});

const endSchema = z.enum([
  /** The answer is within the tolerance. */
  'found',
  /** `to` held. */
  'highest',
  /** No level held. */
  'none',
  /** Levels that had held broke: repeatedly after a break, or at more and more levels. */
  'recovery',
  /** The machine or the running stack allows no higher level. */
  'doctor',
  'generator',
  'machine',
  'measurement',
  'error',
]);

const wallSchema = z.strictObject({
  name: z.enum(['held', 'memory', 'cpu']),
  /** Most connections of a machine, without headroom; null if unknown. */
  max: count.nullable(),
  /** Basis of the computation, or why it is unknown. */
  assumption: z.string(),
});

const sizingSchema = z.strictObject({
  /** Whether fewer machines could be enough, because nothing broke, or not because of the number of connections. */
  atMost: z.boolean(),
  walls: z.array(wallSchema),
  /** Name of the lowest limit, which determines `perMachine`. */
  decides: wallSchema.shape.name,
  perMachine: count,
  rows: rowsOf({
    users: count,
    machines: count,
    /** Memory of each machine; null if unknown. */
    memoryBytes: z.number().nullable(),
    idleCores: z.number().nullable(),
    /** Time in which all users of a machine reconnect, with the CPU that the headroom allows. */
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
    /** Null while the search is not finished. */
    end: endSchema.nullable(),
    /** Highest level that held below all that broke; null if none held. */
    held: positive.nullable(),
    /** Number of runs at that level that held. */
    heldRuns: count,
    /** Number of runs at that level, without controls that broke. */
    runs: count,
    /** Lowest level that broke, or the level of the generator's limit; null if there is none. */
    broke: positive.nullable(),
    /** Explanations, strongest first: from the result of the broken level, or why the search ended there. */
    evidence: z.array(becauseSchema),
  }),
  /** The limit that ended the search before a run; null otherwise. */
  limit: z.strictObject({ name: z.string(), max: count, raise: z.string() }).nullable(),
  /** Null if no level with connections held, or if something else was varied. */
  sizing: sizingSchema.nullable(),
});

export type Varied = (typeof VARIED)[number];
export type Condition = z.infer<typeof conditionSchema>;
export type SearchPlan = z.infer<typeof planSchema>;
export type SearchRun = z.infer<typeof runSchema>;
export type Outcome = z.infer<typeof outcomeSchema>;
export type Because = z.infer<typeof becauseSchema>;
export type Blame = z.infer<typeof blameSchema>;
export type SearchEnd = z.infer<typeof endSchema>;
export type Sizing = z.infer<typeof sizingSchema>;
export type Wall = z.infer<typeof wallSchema>;
export type Search = z.infer<typeof searchSchema>;
