/**
 * Memory in service, as it is with its garbage; and at rest: collected, settled, and the median of several readings, because
 * single ones jump.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { ControlClients, Sampler } from '../samplers/index.ts';
import type { LayerBytes } from './measurements.ts';

const READINGS = 3;
const BETWEEN_READINGS_MS = 200;
/** After a collection, for finalizers and for the kernel to take pages back. */
const SETTLE_MS = 300;

/** @returns bytes per layer as they are; to be read right before `readAtRest`, which collects the garbage */
export function readInService(sampler: Pick<Sampler, 'reading'>): Promise<LayerBytes> {
  return sampler.reading();
}

/** @returns bytes per layer, after a forced collection in every worker */
export async function readAtRest(
  control: Pick<ControlClients, 'gc'>,
  sampler: Pick<Sampler, 'reading'>,
): Promise<LayerBytes> {
  await control.gc();
  await delay(SETTLE_MS);
  const readings: LayerBytes[] = [];
  for (let index = 0; index < READINGS; index++) {
    if (index > 0) await delay(BETWEEN_READINGS_MS);
    readings.push(await sampler.reading());
  }
  return medians(readings);
}

/** @returns the median of each layer that all readings have: a layer that comes and goes cannot be compared */
function medians(readings: LayerBytes[]): LayerBytes {
  const layers = Object.keys(readings[0] ?? {}).filter((layer) => readings.every((one) => layer in one));
  return Object.fromEntries(
    layers.map((layer) => {
      const sorted = readings.map((one) => one[layer] as number).sort((a, b) => a - b);
      return [layer, sorted[Math.floor(sorted.length / 2)] as number];
    }),
  );
}
