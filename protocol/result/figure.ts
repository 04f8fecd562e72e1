/**
 * Declares which keys of the result document are figures. Key and description of a figure come from the schema.
 * Comparisons, thresholds, Prometheus series, findings and the reference documentation use the declarations.
 */
import { z } from 'zod';
import type { AnsweredQuestion } from './findings.ts';
import { intervalOrNull, strictObject } from './shared-schemas.ts';

/** Quantities in the units of the result document: memory in bytes, CPU in seconds or in percent of a core. */
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

export const amountSchema = strictObject({
  quantity: z.enum(QUANTITY_NAMES).describe('what it measures, and so how it is shown; memory is in bytes'),
  value: z.number().nullable().describe('null where only an interval is known, or nothing'),
  interval: intervalOrNull.unwrap().optional().describe('95 %, around the value or in its place'),
  isAtLeast: z.literal(true).optional().describe('the value is a lower bound, because a part of it is unknown'),
  why: z.string().optional().describe('why there is no value, or only an interval'),
  next: z.string().optional().describe('what would make it known better'),
});

export type Amount = z.infer<typeof amountSchema>;

/**
 * Role of a figure in comparisons. `primary`: one of the few figures that decide a comparison. `insteadOf`: compared
 * only if the named figure is missing.
 */
type Compared = 'primary' | 'secondary' | { insteadOf: string };

export interface FigureDeclaration {
  /**
   * Title in tables. If the figure exists for each layer, the layer's title precedes it. If the figure is a
   * distribution, the percentile follows it.
   */
  title?: string;
  quantity: QuantityName;
  /** Noun for the counted things, such as `receipts`. */
  noun?: string;
  /** Direction that counts as better; default: `lower`. */
  better?: 'lower' | 'higher';
  /**
   * Parts of the run's answer that contain the figure. A finding that invalidates one of them invalidates the figure.
   */
  answers: readonly AnsweredQuestion[];
  /**
   * Name of the Artillery metric for the figure; `true` derives the name from the key. A star stands for the name of
   * the layer.
   */
  threshold?: string | true;
  /** Prometheus series that shows the figure during a run. */
  live?: LiveFigureDeclaration;
  /**
   * Role in comparisons. If the figure has several percentiles or layers, there is a role for each. Each additional
   * figure widens the intervals of all figures.
   */
  compared?: Compared | Record<string, Compared>;
  /**
   * Planned value that the figure depends on. A figure that depends on `load` is compared only between runs with the
   * same load. `target` (number of connections) and `rate` are set by the scenario, so a study does not compare figures
   * that depend on them if its levels set them differently.
   */
  follows?: 'load' | 'target' | 'rate';
  /** Source of the figure's noise within a run: the fitted line or the spread between broadcasts. */
  noise?: 'fit' | 'broadcasts';
  /**
   * Computes the number of faults (missing or excess things) from the figure's section. Default: the figure's value.
   */
  faults?(section: never): number;
}

export interface LiveFigureDeclaration {
  /**
   * Name of the Prometheus series without its prefix. A name that ends with `_total` is a counter, any other is a
   * gauge.
   */
  series: string;
  /** Label of the series, whose values are the names in the key or the names of the counts. */
  label?: string;
  /** Additional labels of the series, with constant values. */
  labels?: Record<string, string>;
  /** Description of the series, if the description in the result document does not fit. */
  help?: string;
}

const DECLARATIONS = z.registry<FigureDeclaration>();

/** Adds a description to the schema, and metadata that marks it as a figure of the result. Returns the new schema. */
export function describeFigure<S extends z.ZodType>(schema: S, description: string, declaration: FigureDeclaration): S {
  const described = schema.describe(description);
  DECLARATIONS.add(described, declaration);
  return described;
}

export function figureDeclarationOf(schema: z.ZodType): FigureDeclaration | undefined {
  return DECLARATIONS.get(schema);
}
