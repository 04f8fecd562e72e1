/** Counts copies of events without ids while all connections are held. */
import type { RunContext } from '../context.ts';

/** Begins to count. @returns ends, and writes the counts into the measurements */
export async function beginCounts({ link, measurements }: Pick<RunContext, 'link' | 'measurements'>) {
  const beganMs = performance.now();
  await link.events();
  return {
    async end(): Promise<void> {
      const seconds = (performance.now() - beganMs) / 1000;
      measurements.eventCounts = { seconds, counts: await link.events() };
    },
  };
}
