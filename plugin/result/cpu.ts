/** What the connections and the messages cost in CPU. */
import type { Result } from '../../protocol/result.ts';
import type { CpuWindow, Measurements } from '../run/measurements.ts';
import type { Layer } from '../samplers/index.ts';

export function cpuFigures(
  { sharedHost, cpu: { ramp, idle, broadcast } }: Measurements,
  layers: readonly Layer[],
): Result['cpu'] {
  const seen = new Set([ramp, idle, broadcast].flatMap((window) => Object.keys(window?.cpuUs ?? {})));
  // The whole machine is the generator's alone where the workers run on another.
  const own = layers.filter(({ id, belongsTo }) => seen.has(id) && (sharedHost || belongsTo !== 'machine'));
  return Object.fromEntries(
    own.map(({ id: layer }) => [
      layer,
      {
        rampSecondsPerThousandConnects: ramp.units > 0 ? (ramp.cpuUs[layer] ?? 0) / 1e6 / (ramp.units / 1000) : null,
        idlePercent: idle ? percent(idle, layer) : null,
        broadcastMicrosecondsPerMessage: broadcast && broadcast.units > 0 ? perMessage(broadcast, idle, layer) : null,
      },
    ]),
  );
}

/** What the same time would have cost without broadcasts (pings, sampling) is not the messages' cost. */
function perMessage(broadcast: CpuWindow, idle: CpuWindow | undefined, layer: string): number {
  const idleUs = idle ? ((idle.cpuUs[layer] ?? 0) / idle.seconds) * broadcast.seconds : 0;
  return Math.max(0, (broadcast.cpuUs[layer] ?? 0) - idleUs) / broadcast.units;
}

function percent({ cpuUs, seconds }: CpuWindow, layer: string): number {
  return ((cpuUs[layer] ?? 0) / (seconds * 1e6)) * 100;
}
