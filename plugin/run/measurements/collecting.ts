/**
 * Checks whether the run can force garbage collections, and which memory figures still include garbage after a
 * collection.
 */
import type { Measurements } from './measurements.ts';

export type CollectionContext = Pick<Measurements, 'control'> &
  Partial<Pick<Measurements, 'inspectors' | 'usersLeave'>>;

/**
 * Returns whether RSS and PSS exclude garbage after a collection. JVM and Go processes keep free pages of their heaps,
 * and return them late.
 */
export function hasCleanPages({ inspectors }: Pick<CollectionContext, 'inspectors'>): boolean {
  return inspectors === undefined || inspectors.runtime === 'v8';
}

/** Returns whether the figure still includes garbage after a collection. */
export function includesGarbage(measured: Pick<CollectionContext, 'inspectors'>, figure: string): boolean {
  return !hasCleanPages(measured) && PAGES.includes(figure);
}

const PAGES = ['workerRss', 'workerPss', 'workerWorkingSet'];

/** Returns the minimum number of processes in which the workers run. */
export function minWorkerProcesses(
  measured: Pick<Measurements, 'workersAtStart'> & Pick<CollectionContext, 'inspectors'>,
): number {
  return Math.max(1, measured.workersAtStart.length, measured.inspectors?.size ?? 0);
}

/** Returns whether the run can force garbage collections in the workers. */
export function canForceCollections({ control, inspectors }: CollectionContext): boolean {
  return control || inspectors !== undefined;
}

/**
 * Returns whether the run forces a garbage collection before each memory reading. Collections delay connects, so the
 * run forces none while users connect and disconnect.
 */
export function forcesCollections(measurements: CollectionContext): boolean {
  return canForceCollections(measurements) && !measurements.usersLeave;
}
