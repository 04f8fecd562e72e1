/** The event loops of the load generator, one row each. */
import type { Result } from '../../protocol/result/result.ts';
import type { Measurements } from '../run/measurements/measurements.ts';

/** Rows of a window and part are numbered across all engines: no two loops share a number. */
export function generatorFigures({ generator, hosts }: Pick<Measurements, 'generator' | 'hosts'>): Result['generator'] {
  const counted = new Map<string, number>();
  return generator.map(({ from: { engine, host }, process: _, ...loop }) => {
    const kind = `${loop.window} ${loop.part}`;
    const index = counted.get(kind) ?? 0;
    counted.set(kind, index + 1);
    return { ...loop, index, engine, ...(hosts && { host }) };
  });
}
