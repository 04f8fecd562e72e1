/**
 * Figures as data, and their declaration at their keys in the result document's schema. Key and description come from the schema; comparisons, thresholds,
 * Prometheus series, invalidation and the reference are derived from the declaration.
 */
import { z } from 'zod';
import type { AnsweredQuestion } from './findings.ts';
import { interval, object } from './shared-schemas.ts';

/** Quantities in the units of the result document: memory in bytes, CPU in seconds or percent of a core. */
const QUANTITY_NAMES = [
  'count',
  'kilobytes',
  'megabytes',
  'size',
  'bytes',
  'milliseconds',
  'seconds',
  'cpuSeconds',
  'microseconds',
  'percent',
  'perSecond',
  'share',
] as const;

export type QuantityName = (typeof QUANTITY_NAMES)[number];

export const amountSchema = object({
  quantity: z.enum(QUANTITY_NAMES).describe('what it measures, and so how it is shown; memory is in bytes'),
  value: z.number().nullable().describe('null where only an interval is known, or nothing'),
  interval: interval.unwrap().optional().describe('95 %, around the value or in its place'),
  isAtLeast: z.literal(true).optional().describe('the value is a lower bound, because a part of it is unknown'),
  why: z.string().optional().describe('why there is no value, or only an interval'),
  next: z.string().optional().describe('what would make it known better'),
});

export type Amount = z.infer<typeof amountSchema>;

/** `primary`: one of the few figures that decide a comparison. `insteadOf`: compared only if that name has no figure. */
type Compared = 'primary' | 'secondary' | { insteadOf: string };

export interface Declaration {
  /** Title in tables. For a figure by layer, the part after the layer's title; for a distribution, the part before `p99`. */
  title?: string;
  quantity: QuantityName;
  /** Noun of a count, such as `receipts`. */
  noun?: string;
  /** Direction of improvement; `lower` by default. */
  better?: 'lower' | 'higher';
  /** Findings that invalidate any of these answers also invalidate the figure. */
  answers: readonly AnsweredQuestion[];
  /** Artillery metric; `true` for a name derived from the key. A star stands for the layer's name. */
  threshold?: string | true;
  /** Prometheus series during a run, without its prefix. */
  live?: Live;
  /** How it is compared, by percentile or layer if it has several. Each compared figure widens the intervals of all. */
  compared?: Compared | Record<string, Compared>;
  /**
   * Setting on which it depends. A figure that depends on `load` is compared only between runs of the same load. `target` and `rate` are
   * set by the scenario, so a study does not compare such figures between levels that set them differently.
   */
  follows?: 'load' | 'target' | 'rate';
  /** Source of the noise estimate within a run: the fit of a line, or the broadcasts. */
  noise?: 'fit' | 'broadcasts';
  /** Computes the faults that the figure counts (missing or excess ones) from its section. Default: the value itself. */
  faults?(section: never): number;
}

export interface Live {
  /** Name of the series: a counter if it ends with `_total`, else a gauge. */
  series: string;
  /** Label with the names in the key, or the names of the counts, as values. */
  label?: string;
  /** Further, constant labels. */
  labels?: Record<string, string>;
  /** Description, if that of the result does not fit. */
  help?: string;
}

const DECLARATIONS = z.registry<Declaration>();

/** Returns the schema, described and declared as a figure of the result. */
export function figure<S extends z.ZodType>(schema: S, description: string, declaration: Declaration): S {
  const described = schema.describe(description);
  DECLARATIONS.add(described, declaration);
  return described;
}

export function declarationOf(schema: z.ZodType): Declaration | undefined {
  return DECLARATIONS.get(schema);
}
