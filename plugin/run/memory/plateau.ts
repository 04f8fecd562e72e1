/**
 * Memory while the number of connections stays the same, in service and at rest: the points that a line is fitted
 * through, and what is left when all have gone.
 */

import type { Checkpoints } from '../checkpoints/checkpoints.ts';
import { addWarning, type RunContext } from '../context.ts';
import { measureAtRest, measureSettled, without } from './at-rest.ts';
import { noteOtherPrograms } from './other-programs.ts';
import type { AtRest } from './readings.ts';

/** Before the load. What is freed only after it would make the connections look cheaper. */
export async function measureBaseline(context: RunContext, checkpoints: Checkpoints): Promise<void> {
  await measurePlateau(context, checkpoints, async (when) => {
    const so = 'the baseline is too high, and there is no memory per connection';
    const { falling, ...read } = await measureSettled(context, when, so);
    context.measurements.fallingAtBaseline = falling;
    return read;
  });
}

type AtRestOf = (when: string, isSame: () => boolean) => Promise<Pick<AtRest, 'layers' | 'readings'>>;

/** Adds no plateau if connections came or left before memory was read once. */
export async function measurePlateau(
  context: RunContext,
  checkpoints: Checkpoints,
  atRest: AtRestOf = (when, isSame) => measureAtRest(context, when, isSame),
): Promise<void> {
  const { sampler, population, measurements, signal } = context;
  if (signal.aborted) return;
  const when = `at ${population.connections()} connections`;
  await checkpoints.check(when);
  const connections = population.connections();
  const inService = await sampler.reading();
  const { layers, readings } = await atRest(when, () => population.connections() === connections);
  if (measurements.memory && readings.length === 0) {
    const now = population.connections();
    const message = `connections changed from ${connections} to ${now} while memory was read`;
    const fix =
      now < connections
        ? 'see why connections ended; if their flow did, end it with `hold: true`'
        : 'make the pauses between the ramps longer';
    addWarning(context, 'PLATEAUS_UNUSABLE', message, fix);
    return;
  }
  measurements.absentLayers = sampler.absent();
  measurements.origins = sampler.origins();
  measurements.plateaus.push({ connections, layers, readings, inService });
  await noteOtherPrograms(context);
}

/** When all connections have left. */
export async function measureResidual(context: RunContext, checkpoints: Checkpoints): Promise<void> {
  const { measurements } = context;
  const when = 'after all had left';
  await checkpoints.check(when);
  // Processes that a fault has replaced have another baseline.
  if (measurements.fault) return;
  const { layers, falling } = await measureSettled(context, when, 'there is no residual');
  measurements.afterDisconnect = without(layers, falling);
}
