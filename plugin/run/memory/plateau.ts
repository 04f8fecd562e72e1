/** Measures memory at a constant number of connections: the points of the fit, and the residual after all have closed. */

import { valuesOf } from '../../samplers/index.ts';
import type { Checkpoints } from '../checkpoints/checkpoints.ts';
import type { RunContext } from '../context.ts';
import type { Moment } from '../measurements/observations.ts';
import { measureAtRest, measureSettled, withoutFigures } from './at-rest.ts';
import { machineMoment } from './holders.ts';
import type { AtRest } from './readings.ts';

/** Measures the baseline, once memory has settled: memory that is freed later would make connections look cheaper. */
export async function measureBaseline(context: RunContext, checkpoints: Checkpoints): Promise<void> {
  await measurePlateau(context, checkpoints, async (when) => {
    const { falling, ...read } = await measureSettled(context, when);
    context.measurements.fallingAtBaseline = falling;
    return read;
  });
}

type ReadAtRest = (when: Moment, isSame: () => boolean) => Promise<Omit<AtRest, 'uncollected'>>;

/** Adds a plateau, unless the number of connections changed before memory was read once. */
export async function measurePlateau(
  context: RunContext,
  checkpoints: Checkpoints,
  atRest: ReadAtRest = (when, isSame) => measureAtRest(context, when, isSame),
): Promise<void> {
  const { sampler, population, measurements, signal } = context;
  if (signal.aborted) return;
  const when = { at: 'plateau', count: population.connections() } as const;
  await checkpoints.check(when);
  const connections = population.connections();
  const inService = valuesOf(await sampler.reading());
  const before = await machineMoment(context, inService);
  const { layers, readings, last } = await atRest(when, () => population.connections() === connections);
  if (measurements.memory && readings.length === 0) {
    const moved = { from: connections, to: population.connections() };
    measurements.observations.note('plateauMoved', moved, connections);
    return;
  }
  measurements.lastReadings = last;
  const after = await machineMoment(context, readings.at(-1) ?? layers);
  const machine = before && after && { before, after };
  measurements.plateaus.push({ connections, layers, readings, inService, ...(machine && { machine }) });
}

/** Measures the memory that remains after all connections have closed. */
export async function measureResidual(context: RunContext, checkpoints: Checkpoints): Promise<void> {
  const { measurements } = context;
  const when = { at: 'left' } as const;
  await checkpoints.check(when);
  // Processes that a fault replaced cannot be compared with the baseline.
  if (measurements.fault) return;
  const { layers, falling } = await measureSettled(context, when);
  measurements.afterDisconnect = withoutFigures(layers, falling);
}
