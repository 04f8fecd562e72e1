/** One full reading of all layers. Figures that cannot be read are missing, and the reason is recorded. */
import { describeError } from '../../protocol/errors.ts';
import type { Layer } from './layers/layer.ts';
import type { Sources } from './sources.ts';

export interface Reading {
  /** By the ids of figures: `workerRss`, `kernelTcp`, … */
  bytes: Record<string, number>;
  /** Why figures are missing, by their ids. */
  absent: Record<string, string>;
}

const NOT_HERE = "the workers run on another machine, and the kernel of this one knows only the generator's end";

/**
 * @param ownMachineOnly the workers run on another machine, whose kernel figures this machine does not have
 * @returns figures in the order of the layers; never rejects
 */
export async function takeReading(
  layers: readonly Layer[],
  sources: Sources,
  ownMachineOnly: boolean,
): Promise<Reading> {
  const reading: Reading = { bytes: {}, absent: {} };
  const figures = layers.flatMap(({ belongsTo, figures }) =>
    figures.map(({ id, read }) => ({ id, read: belongsTo === 'machine' && ownMachineOnly ? notHere : read })),
  );
  const answers = await Promise.allSettled(figures.map(({ read }) => read(sources)));
  for (const [index, { id }] of figures.entries()) {
    const answer = answers[index] as PromiseSettledResult<number>;
    if (answer.status === 'fulfilled') reading.bytes[id] = answer.value;
    else reading.absent[id] = describeError(answer.reason).split('\n')[0] as string;
  }
  return reading;
}

async function notHere(): Promise<never> {
  throw new Error(NOT_HERE);
}
