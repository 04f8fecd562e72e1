/** What the hosts that bring the load tell of themselves, added up by the windows of the run. */

import type { GeneratorHost, GeneratorWindow } from '../../run/measurements/generator.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import type { HostEntry } from './hub.ts';
import type { MachineRow } from './messages.ts';

export interface Timeline {
  stages: Measurements['stages'];
  /** When `t` of the stages is 0; undefined before the first one. */
  beganAtUs: number | undefined;
}

interface Known {
  /** By the number of the stage in the run. */
  idle: Map<number, { window: GeneratorWindow; sum: number; rows: number }>;
  peakBytes: GeneratorHost['peakBytes'];
}

const WINDOWS: Partial<Record<string, GeneratorWindow>> = { ramp: 'ramp', hold: 'messages', broadcasts: 'broadcasts' };

export class GeneratorHosts {
  readonly #known = new Map<string, Known>();
  readonly #hosts: () => readonly HostEntry[];

  constructor(hosts: () => readonly HostEntry[]) {
    this.#hosts = hosts;
  }

  /** @param timeline of the run so far */
  add(
    host: string,
    { atUs, cpuIdlePercent, memoryUsedBytes, fleet, artillery }: MachineRow,
    { stages, beganAtUs = atUs }: Timeline,
  ): void {
    const known = this.#of(host);
    const { peakBytes } = known;
    peakBytes.fleet = Math.max(peakBytes.fleet, fleet.rssBytes);
    peakBytes.artillery = Math.max(peakBytes.artillery, artillery.rssBytes);
    if (memoryUsedBytes !== null) peakBytes.used = Math.max(peakBytes.used ?? 0, memoryUsedBytes);
    const stage = stages.findLastIndex(({ t }) => t * 1e6 <= atUs - beganAtUs);
    const window = WINDOWS[stages[stage]?.name ?? ''];
    if (window === undefined || cpuIdlePercent === null) return;
    const idle = known.idle.get(stage) ?? { window, sum: 0, rows: 0 };
    known.idle.set(stage, { window, sum: idle.sum + cpuIdlePercent, rows: idle.rows + 1 });
  }

  measured(): GeneratorHost[] {
    return this.#hosts().map(({ name, hello, beganAtUs, lost, clock }) => ({
      ...{ host: name, cores: hello.cores, beganAtUs, lost, clock },
      arrivals: hello.arrivals.reduce((sum, count) => sum + count, 0),
      cpuIdlePercent: leastIdle(this.#of(name)),
      peakBytes: { ...this.#of(name).peakBytes },
    }));
  }

  #of(host: string): Known {
    let known = this.#known.get(host);
    if (!known) {
      known = { idle: new Map(), peakBytes: { fleet: 0, artillery: 0, used: null } };
      this.#known.set(host, known);
    }
    return known;
  }
}

/** An average over all ramps would hide the last one, in which most is connected. */
function leastIdle({ idle }: Known): GeneratorHost['cpuIdlePercent'] {
  const least: GeneratorHost['cpuIdlePercent'] = {};
  for (const { window, sum, rows } of idle.values()) least[window] = Math.min(least[window] ?? 100, sum / rows);
  return least;
}
