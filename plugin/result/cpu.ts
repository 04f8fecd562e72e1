/** What the connections and the messages cost in CPU. */
import type { Result } from '../../protocol/result.ts';
import type { CpuWindow, Facts } from '../run/measurements.ts';

export function cpuFigures({ sharedHost, cpu: { ramp, idle, broadcast } }: Facts): Result['cpu'] {
  const layers = new Set([ramp, idle, broadcast].flatMap((window) => Object.keys(window?.cpuUs ?? {})));
  return Object.fromEntries(
    layersOf(sharedHost, [...layers]).map((layer) => [
      layer,
      {
        rampSecondsPerThousandConnects: ramp.units > 0 ? (ramp.cpuUs[layer] ?? 0) / 1e6 / (ramp.units / 1000) : null,
        idlePercent: idle ? percent(idle, layer) : null,
        broadcastMicrosecondsPerMessage: broadcast && broadcast.units > 0 ? perMessage(broadcast, idle, layer) : null,
      },
    ]),
  );
}

/** The whole machine is the generator's alone where the workers run on another. */
function layersOf(sharedHost: boolean, layers: string[]): string[] {
  return sharedHost ? layers : layers.filter((layer) => layer !== 'system');
}

/** What the same time would have cost without broadcasts (pings, sampling) is not the messages' cost. */
function perMessage(broadcast: CpuWindow, idle: CpuWindow | undefined, layer: string): number {
  const idleUs = idle ? ((idle.cpuUs[layer] ?? 0) / idle.seconds) * broadcast.seconds : 0;
  return Math.max(0, (broadcast.cpuUs[layer] ?? 0) - idleUs) / broadcast.units;
}

function percent({ cpuUs, seconds }: CpuWindow, layer: string): number {
  return ((cpuUs[layer] ?? 0) / (seconds * 1e6)) * 100;
}
