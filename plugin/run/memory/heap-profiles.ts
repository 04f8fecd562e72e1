/** Where connections allocate what they keep: heap profiles of the workers, from before the first connection until all are there. */
import type { RunContext } from '../context.ts';

/** No figure depends on it: a failure is kept in place of the profiles. */
export async function startHeapProfiles({ profiler, measurements, config, signal }: RunContext): Promise<void> {
  if (!profiler || signal.aborted || config.overTime) return;
  measurements.heapProfiles = [];
  await profiler.startProfiles().catch((error) => {
    measurements.heapProfiles = error;
  });
}

/** At the full target, after its last reading at rest. */
export async function takeHeapProfiles({ profiler, measurements, signal }: RunContext): Promise<void> {
  const { heapProfiles } = measurements;
  if (!profiler || !heapProfiles || heapProfiles instanceof Error || signal.aborted) return;
  measurements.heapProfiles = await profiler.takeProfiles().catch((error: Error) => error);
}
