/** The section `memory` of the result document: bytes by layer. */
import { z } from 'zod';
import { overTimeSchema } from './over-time.ts';
import { count, layers } from './parts.ts';

const slopeSchema = z.strictObject({
  slope: z.number(),
  /** Null with fewer than three plateaus: two points give no estimate of the error. */
  low95: z.number().nullable(),
  high95: z.number().nullable(),
  r2: z.number(),
  /** The Techracers study's figure: (peak − baseline) ÷ connections. */
  naive: z.number(),
  /** Why the slope is not to be quoted; missing where it may be. */
  doubt: z
    .enum(['fewPlateaus', 'noRise', 'curved', 'grows', 'falling', 'freed', 'kept', 'wide', 'miscounted'])
    .optional(),
});

const layerSchema = z.strictObject({
  /** Key of the memory figures (`workerRss`), or of `cpu` (`worker`). */
  id: z.string(),
  title: z.string(),
  /** `bytes` of memory, or `cpuSeconds`: the key is one of `cpu`. */
  unit: z.enum(['bytes', 'cpuSeconds']),
  /** `machine`: everything that runs on the generator's machine, which can be the deployment's, too. */
  belongsTo: z.enum(['deployment', 'generator', 'machine']),
  /** Whether its bytes are part of the sum; no other layer of the sum contains them. */
  inSum: z.boolean(),
  /** Whether it is shown where there is room for few layers. */
  main: z.boolean(),
});

export const memorySchema = z.strictObject({
  /** Describes the layers, in the order of tables. Empty in results of versions that did not describe them. */
  layers: z.array(layerSchema).default([]),
  /** Before each reading at rest, the workers were made to collect their garbage; if not, memory is as it was. */
  collected: z.boolean().default(true),
  /** At rest: after a collection. */
  perConnectionBytes: z.record(z.string(), slopeSchema),
  /** What the workers need while they work, garbage and buffers included; null where it was not read. */
  inService: z
    .strictObject({
      /**
       * Of the readings before the collections, or the share of `peakBytes` in proportion to the connections if more.
       * Without an interval, as the peak is one observation; results of older versions have one.
       */
      perConnectionBytes: z.record(z.string(), slopeSchema.omit({ naive: true })),
      /** Highest while the full target was held and broadcast to. */
      peakBytes: layers,
      /** Just before the collection at each plateau. */
      plateaus: z.array(z.object({ connections: count }).catchall(z.number())),
    })
    .nullable()
    .default(null),
  /** The sum of the layers' slopes, compared with that of the whole machine; null if one of them is unknown. */
  sum: z
    .strictObject({
      /** Layers that are added up. */
      parts: z.array(z.string()),
      partsPerConnectionBytes: z.number(),
      /** Slope of `systemHeld`, and its interval. */
      systemPerConnectionBytes: z.number(),
      systemLow95: z.number().nullable(),
      systemHigh95: z.number().nullable(),
      unexplainedPerConnectionBytes: z.number(),
      /** Share of the machine's slope; null if that is not positive. */
      unexplainedShare: z.number().nullable(),
    })
    .nullable()
    .default(null),
  peakBytes: layers,
  /** Layers whose peak is PSS that was derived from RSS, between two readings of PSS. */
  derivedPeaks: z.array(z.string()).default([]),
  residualBytes: layers,
  /** At full target, after all broadcasts and a garbage collection. */
  afterBroadcastsBytes: layers,
  plateaus: z.array(z.object({ connections: count }).catchall(z.number())),
  /** Where virtual users came and went, and memory was read again and again; null in all other runs. */
  overTime: overTimeSchema.nullable().default(null),
  /** Whose figure each layer's is: of the processes, of the workers themselves, of their metrics. */
  sources: z.record(z.string(), z.string()).default({}),
  /** Whether every worker counts its collections: only then could those that the run ordered be checked. */
  collectionsCounted: z.boolean().default(false),
  /** Layers that cannot be read on this system, and why. */
  absent: z.record(z.string(), z.string()),
});

export type Slope = z.infer<typeof slopeSchema>;
export type LayerDescription = z.infer<typeof layerSchema>;
