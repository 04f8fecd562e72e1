/**
 * Takes heap profiles of the workers, which show where connections allocate memory: from the baseline to the full load; or, in waves, what
 * connections leave behind, from the first reading after a wave to the last.
 */
import type { RunContext } from '../context.ts';

/** Keeps a failure in place of the profiles, as no figure depends on them. */
export async function startHeapProfiles({ profiler, measurements, signal }: RunContext): Promise<void> {
  if (!profiler || signal.aborted || measurements.heapProfiles) return;
  measurements.heapProfiles = [];
  await profiler.startProfiles('heap').catch((error) => {
    measurements.heapProfiles = error;
  });
}

/** To be called after the last reading at rest. */
export async function takeHeapProfiles({ profiler, measurements, signal }: RunContext): Promise<void> {
  const { heapProfiles } = measurements;
  if (!profiler || !heapProfiles || heapProfiles instanceof Error || signal.aborted) return;
  measurements.heapProfiles = await profiler.takeProfiles().catch((error: Error) => error);
}
