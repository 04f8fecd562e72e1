/** What the hosts that bring the load tell of themselves, added up by the windows of the run. */

import type { MachineShares } from '../../../protocol/result/machine.ts';
import type { GeneratorHost, GeneratorWindow, ShareWindow } from '../../run/measurements/generator.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import { takenShare } from '../../run/windows/resources.ts';
import { meanShares } from '../../samplers/index.ts';
import type { Host } from './host.ts';
import type { MachineRow } from './messages.ts';

export interface Timeline {
  stages: Measurements['stages'];
  /** When `t` of the stages is 0; undefined before the first one. */
  beganAtUs: number | undefined;
}

interface Known {
  /** By the number of the stage in the run. */
  idle: Map<number, { window: GeneratorWindow; sum: number; rows: number }>;
  shares: Map<number, { window: ShareWindow; mean: MachineShares }>;
}

const WINDOWS: Partial<Record<string, GeneratorWindow>> = { ramp: 'ramp', hold: 'messages', broadcasts: 'broadcasts' };

export class GeneratorHosts {
  readonly #known = new Map<string, Known>();
  readonly #hosts: () => readonly Pick<Host, 'name' | 'hello' | 'beganAtUs' | 'lost' | 'clock'>[];

  constructor(hosts: () => readonly Pick<Host, 'name' | 'hello' | 'beganAtUs' | 'lost' | 'clock'>[]) {
    this.#hosts = hosts;
  }

  /** @param timeline of the run so far */
  add(host: string, { atUs, cpuIdlePercent, shares }: MachineRow, { stages, beganAtUs = atUs }: Timeline): void {
    const known = this.#of(host);
    const stageAt = (timeUs: number) => stages.findLastIndex(({ t }) => t * 1e6 <= timeUs - beganAtUs);
    const windowOf = (number: number) => WINDOWS[stages[number]?.name ?? ''];
    if (shares) {
      const middle = stageAt(atUs - (shares.seconds * 1e6) / 2);
      const window = windowOf(middle);
      const before = known.shares.get(middle);
      if (window) known.shares.set(middle, { window, mean: meanShares([...(before ? [before.mean] : []), shares]) });
    }
    const stage = stageAt(atUs);
    const window = windowOf(stage);
    if (window === undefined || cpuIdlePercent === null) return;
    const idle = known.idle.get(stage) ?? { window, sum: 0, rows: 0 };
    known.idle.set(stage, { window, sum: idle.sum + cpuIdlePercent, rows: idle.rows + 1 });
  }

  measured(): GeneratorHost[] {
    return this.#hosts().map(({ name, hello, beganAtUs, lost, clock }) => ({
      ...{ host: name, cores: hello.cores, beganAtUs, lost, clock },
      arrivals: hello.arrivals.reduce((sum, count) => sum + count, 0),
      cpuIdlePercent: leastIdle(this.#of(name)),
      shares: mostTaken(this.#of(name)),
      kernel: hello.kernel,
    }));
  }

  #of(host: string): Known {
    let known = this.#known.get(host);
    if (!known) {
      known = { idle: new Map(), shares: new Map() };
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

function mostTaken({ shares }: Known): GeneratorHost['shares'] {
  const most: GeneratorHost['shares'] = {};
  for (const { window, mean } of shares.values()) {
    const before = most[window];
    if (!before || takenShare(mean) > takenShare(before)) most[window] = mean;
  }
  return most;
}
