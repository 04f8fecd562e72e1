/**
 * A figure of the result document, declared where its key stands in the schema. Key and description are those of the schema;
 * comparisons, thresholds, Prometheus series, invalidation and the reference follow from the declaration.
 */
import { z } from 'zod';
import type { QuantityName } from './amount-schema.ts';
import type { AnsweredQuestion } from './findings.ts';

/** `primary`: one of the few figures that decide a comparison. `insteadOf`: compared only where that name has no figure. */
export type Compared = 'primary' | 'secondary' | { insteadOf: string };

export interface Declaration {
  /** Title in tables. Of a figure by layer, the part after the layer's title; of a distribution, the part before `p99`. */
  title?: string;
  quantity: QuantityName;
  /** Noun of a count, such as `receipts`. */
  noun?: string;
  /** `lower` by default. */
  better?: 'lower' | 'higher';
  /** Findings that invalidate one of these answers of a run invalidate the figure. */
  answers: readonly AnsweredQuestion[];
  /** Artillery metric; `true` for the name that follows from the key. A star stands for the layer's own word. */
  threshold?: string | true;
  /** Prometheus series during a run, without its prefix. */
  live?: Live;
  /** Compared percentiles of a distribution, or layers. Every compared figure widens the intervals of all. */
  compared?: Compared | Record<string, Compared>;
  /**
   * Compared only between runs of the same `load`. A `target` and a `rate` are what a scenario asks for: not even a study, whose
   * levels ask for different ones, compares them.
   */
  follows?: 'load' | 'target' | 'rate';
  /** Source of a single run's noise: the fit of a line, or the broadcasts. */
  noise?: 'fit' | 'broadcasts';
  /** Faults that the figure counts, from its section: what is missing, or too much. By default the value itself. */
  faults?(section: never): number;
}

export interface Live {
  /** A counter if it ends with `_total`, else a gauge. */
  series: string;
  /** Label whose values are the names in the key, or those of the counts. */
  label?: string;
  /** Further labels, the same for all its values. */
  labels?: Record<string, string>;
  /** Description, where that of the finished result does not fit. */
  help?: string;
}

const DECLARATIONS = z.registry<Declaration>();

/** @returns the schema, described and declared as a figure of the result */
export function figure<S extends z.ZodType>(schema: S, description: string, declaration: Declaration): S {
  const described = schema.describe(description);
  DECLARATIONS.add(described, declaration);
  return described;
}

export function declarationOf(schema: z.ZodType): Declaration | undefined {
  return DECLARATIONS.get(schema);
}
