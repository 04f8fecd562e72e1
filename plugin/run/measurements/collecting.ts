/** Reliability of the workers' memory figures: whether the run can force collections, and which figures keep garbage afterwards. */
import type { Measurements } from './measurements.ts';

export type Collecting = Pick<Measurements, 'control'> & Partial<Pick<Measurements, 'inspectors' | 'usersLeave'>>;

/** Returns whether RSS and PSS are without garbage after a collection. JVM and Go keep pages of their heaps, and free them late. */
export function hasCleanPages({ inspectors }: Pick<Collecting, 'inspectors'>): boolean {
  return inspectors === undefined || inspectors.runtime === 'v8';
}

/** Returns whether the figure has garbage after a collection. */
export function isUnclean(measured: Pick<Collecting, 'inspectors'>, figure: string): boolean {
  return !hasCleanPages(measured) && PAGES.includes(figure);
}

const PAGES = ['workerRss', 'workerPss', 'workerWorkingSet'];

/** Returns a lower limit of how many processes the workers have. */
export function workerProcesses(
  measured: Pick<Measurements, 'workersAtStart'> & Pick<Collecting, 'inspectors'>,
): number {
  return Math.max(1, measured.workersAtStart.length, measured.inspectors?.size ?? 0);
}

/** Returns whether the run can force garbage collections in the workers. */
export function canCollect({ control, inspectors }: Collecting): boolean {
  return control || inspectors !== undefined;
}

/**
 * Returns whether the run forces a collection before each reading. It does not while users connect and disconnect, because a collection
 * delays them.
 */
export function collects(measurements: Collecting): boolean {
  return canCollect(measurements) && !measurements.usersLeave;
}
