/** Measures the generator's event loops and CPU throttling: if the generator lags, its queue is part of the latencies. */
import type { RunContext } from '../context.ts';
import type { EngineSnapshot } from '../link.ts';
import type { GeneratorLoop, GeneratorWindow } from '../measurements/generator-measured.ts';

export async function resetGenerator({ link, ledger, resources }: RunContext): Promise<void> {
  await resources.begin();
  if (ledger) await link.snapshots();
}

/** Ends the window of the idle hold, for which only the machine is recorded. */
export async function noteIdleHold({ measurements, resources }: RunContext): Promise<void> {
  await resources.end('idle', measurements);
}

/** Ends a window, and keeps the worst values of each event loop if there are several. @returns the engines' counts */
export async function noteGenerator(
  { link, ledger, measurements, resources }: RunContext,
  window: GeneratorWindow,
): Promise<EngineSnapshot[]> {
  await resources.end(window, measurements);
  if (!ledger) return [];
  const snapshots = await link.snapshots();
  const loops: GeneratorLoop[] = snapshots.flatMap(({ from, processes, engineLoop }) => [
    { window, part: 'artillery', from, process: 0, ...engineLoop },
    ...processes
      .filter(({ answers }) => answers)
      .map(({ index, eventLoop }) => ({ window, part: 'fleet' as const, from, process: index, ...eventLoop })),
  ]);
  for (const loop of loops) {
    const before = measurements.generator.findIndex((one) => keyOf(one) === keyOf(loop));
    if (before < 0) measurements.generator.push(loop);
    else measurements.generator[before] = worstOf(measurements.generator[before] as GeneratorLoop, loop);
  }
  return snapshots;
}

function keyOf({ window, part, process, from: { host, engine } }: GeneratorLoop): string {
  return JSON.stringify([window, part, process, host, engine]);
}

function worstOf(one: GeneratorLoop, other: GeneratorLoop): GeneratorLoop {
  return {
    ...one,
    utilization: Math.max(one.utilization, other.utilization),
    delayP50Ms: Math.max(one.delayP50Ms, other.delayP50Ms),
    delayP99Ms: Math.max(one.delayP99Ms, other.delayP99Ms),
    delayMaxMs: Math.max(one.delayMaxMs, other.delayMaxMs),
    cpuWaitShare: one.cpuWaitShare === null ? null : Math.max(one.cpuWaitShare, other.cpuWaitShare ?? 0),
  };
}
