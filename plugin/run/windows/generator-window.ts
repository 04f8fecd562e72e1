/**
 * Measures the generator's event loops and CPU throttling. Delays in the generator are part of the measured latencies.
 */
import type { RunContext } from '../context.ts';
import type { EngineSnapshot } from '../link.ts';
import type { GeneratorLoop, GeneratorWindow } from '../measurements/generator-measured.ts';

export async function beginGeneratorWindow({ link, ledger, resources }: RunContext): Promise<void> {
  await resources.begin();
  if (ledger) await link.snapshots();
}

/** Ends the measurement window of the idle hold. Only the machine's CPU is recorded, not the event loops. */
export async function endIdleHoldWindow({ measurements, resources }: RunContext): Promise<void> {
  await resources.end('idle', measurements);
}

/**
 * Ends a measurement window of the generator. If the window has several parts, keeps the worst values of each event
 * loop.
 * @returns the engines' counts
 */
export async function endGeneratorWindow(
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
    const before = measurements.generator.findIndex((known) => keyOf(known) === keyOf(loop));
    if (before < 0) measurements.generator.push(loop);
    else measurements.generator[before] = worstOf(measurements.generator[before] as GeneratorLoop, loop);
  }
  return snapshots;
}

function keyOf({ window, part, process, from: { host, engine } }: GeneratorLoop): string {
  return JSON.stringify([window, part, process, host, engine]);
}

function worstOf(a: GeneratorLoop, b: GeneratorLoop): GeneratorLoop {
  return {
    ...a,
    utilization: Math.max(a.utilization, b.utilization),
    delayP50Ms: Math.max(a.delayP50Ms, b.delayP50Ms),
    delayP99Ms: Math.max(a.delayP99Ms, b.delayP99Ms),
    delayMaxMs: Math.max(a.delayMaxMs, b.delayMaxMs),
    cpuWaitShare: a.cpuWaitShare === null ? null : Math.max(a.cpuWaitShare, b.cpuWaitShare ?? 0),
  };
}
