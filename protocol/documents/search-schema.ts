/** `results/search-<scenario>-<what varies>/search.json`: runs at rising levels, and the highest level that held. */
import { z } from 'zod';
import { count, rowsOf } from '../result/shared-schemas.ts';
import { seriesRunSchema } from './series-schema.ts';

const positive = z.number().positive();

export const VARIED = ['connections', 'rate', 'broadcastsPerSec', 'bytes'] as const;

export const COMPARISONS = ['<=', '>=', '==', '!=', '<', '>'] as const;

export const conditionSchema = z.strictObject({
  /** Path of a number in the result document, with dots. */
  key: z.string().min(1),
  comparison: z.enum(COMPARISONS),
  value: z.number(),
});

const planSchema = z.strictObject({
  scenario: z.string().min(1),
  /** SHA-256 of the scenario's text. */
  scenarioHash: z.string(),
  /** One of the scenario's `config.environments`. */
  environment: z.string().nullable(),
  target: z.string(),
  vary: z.enum(VARIED),
  /** A level breaks when one of them is met; empty for the rules that apply by default. */
  until: z.array(conditionSchema),
  from: positive,
  to: positive.nullable(),
  /** From one level to the next, until one breaks. */
  factor: z.number().gt(1),
  /** By which share the answer may be off: levels are tried to half of it, as runs at the same level differ. */
  tolerance: positive,
  /** Further runs of the answer's level. */
  repeat: count,
  /** Before the run after one that broke; longer where the deployment has not recovered by then. */
  restSeconds: z.number().nonnegative(),
  /** Share of each limit that the sizing table leaves free. */
  headroom: z.number().min(0).lt(1),
});

/**
 * `breaks`: by the deployment. `cannotTell`: the generator or its machine was the limit, or the measurement is not
 * sound. `error`: the run did not come to its end.
 */
const outcomeSchema = z.enum(['holds', 'breaks', 'cannotTell', 'error']);

/** Whose limit it is: `machine` is shared by deployment and generator. */
const blameSchema = z.enum(['deployment', 'generator', 'machine', 'measurement']);

const becauseSchema = z.strictObject({
  /** Code of the finding; null for a condition or a threshold. */
  code: z.string().nullable(),
  text: z.string(),
  /** It explains the others. */
  isCause: z.boolean(),
});

const runSchema = seriesRunSchema.extend({
  level: positive,
  /** `again`: it broke once. `control`: it held before, and shows whether the deployment has recovered. */
  purpose: z.enum(['step', 'bisect', 'again', 'control', 'confirm']),
  outcome: outcomeSchema,
  /** Whose limit the run met; null if the level held. */
  blame: blameSchema.nullable(),
  /** What happened, the most important first; for a level that held, doubts that do not concern the answer. */
  because: z.array(becauseSchema),
});

const endSchema = z.enum([
  /** The answer is known to the tolerance. */
  'found',
  /** `to` held. */
  'highest',
  /** No level held. */
  'none',
  /** What had held before broke: again and again after a break, or at more and more levels. */
  'recovery',
  /** The machine, or the stack that is up, allows no higher level. */
  'doctor',
  'generator',
  'machine',
  'measurement',
  'error',
]);

const wallSchema = z.strictObject({
  name: z.enum(['held', 'memory', 'cpu']),
  /** Connections of one machine with nothing left free; null where it is not known. */
  max: count.nullable(),
  /** What it is computed from, or why it is not known. */
  assumption: z.string(),
});

const sizingSchema = z.strictObject({
  /** Nothing broke, or not for the number of connections: fewer machines may do. */
  atMost: z.boolean(),
  walls: z.array(wallSchema),
  /** The lowest one, after the headroom. */
  decides: wallSchema.shape.name,
  perMachine: count,
  rows: rowsOf({
    users: count,
    machines: count,
    /** On each machine; null where it is not known. */
    memoryBytes: z.number().nullable(),
    idleCores: z.number().nullable(),
    /** In which all users of a machine connect again, with the CPU that the headroom allows. */
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
    /** Highest level below all that broke; null if none held. */
    held: positive.nullable(),
    /** Runs at that level that held. */
    heldRuns: count,
    /** Runs at that level, without controls that broke. */
    runs: count,
    /** Lowest level that broke, or the one of the generator's limit; null if there is none. */
    broke: positive.nullable(),
    /** What explains it, the strongest first: from the result of the broken level, or why the search ended there. */
    evidence: z.array(becauseSchema),
  }),
  /** The limit that ended the search before a run; null otherwise. */
  limit: z.strictObject({ name: z.string(), max: count, raise: z.string() }).nullable(),
  /** Null where no level with connections held, or something else varied. */
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
