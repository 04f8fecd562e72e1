/** One full reading of all layers. Figures that cannot be read are missing, and the reason is recorded. */
import { describeError } from '../../protocol/errors.ts';
import { NotInRun } from './absence.ts';
import type { Layer, Origin } from './layers/layer.ts';
import type { Sources } from './sources.ts';

export interface Reading {
  /** By the ids of figures: `workerRss`, `kernelTcp`, … */
  bytes: Record<string, number>;
  /** Whose figures they are, by their ids. */
  sources: Record<string, string>;
  /** Why figures are missing, by their ids. */
  absent: Record<string, string>;
}

/**
 * @param notShared why the kernel of this machine tells nothing of the deployment
 * @returns figures in the order of the layers; never rejects
 */
export async function takeReading(
  layers: readonly Layer[],
  sources: Sources,
  notShared: string | undefined,
): Promise<Reading> {
  const reading: Reading = { bytes: {}, sources: {}, absent: {} };
  const figures = layers.flatMap(({ belongsTo, figures }) => figures.map((figure) => ({ ...figure, belongsTo })));
  const answers = await Promise.allSettled(
    figures.map(async ({ belongsTo, from }) => {
      if (belongsTo === 'machine' && notShared) throw new Error(notShared);
      return firstKnown(from, sources);
    }),
  );
  for (const [index, { id }] of figures.entries()) {
    const answer = answers[index] as PromiseSettledResult<{ bytes: number; source: string }>;
    if (answer.status === 'fulfilled') {
      reading.bytes[id] = answer.value.bytes;
      reading.sources[id] = answer.value.source;
    } else reading.absent[id] = describeError(answer.reason).split('\n')[0] as string;
  }
  return reading;
}

/** Rejects with the reason of the last source that the run has, or of the first one if it has none. */
export async function firstKnown(from: Origin[], sources: Sources): Promise<{ bytes: number; source: string }> {
  const reasons: unknown[] = [];
  for (const { source, read } of from) {
    try {
      return { bytes: await read(sources), source };
    } catch (reason) {
      reasons.push(reason);
    }
  }
  throw reasons.findLast((reason) => !(reason instanceof NotInRun)) ?? reasons[0];
}
