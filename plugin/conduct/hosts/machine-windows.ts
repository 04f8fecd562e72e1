/** A generator host's CPU readings, averaged by stage and selected by window of the run. */
import type { MachineShares } from '../../../protocol/result/machine-schema.ts';
import type { GeneratorHost, GeneratorWindow, ShareWindow } from '../../run/measurements/generator-measured.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import { takenShare } from '../../run/windows/resource-windows.ts';
import { meanShares } from '../../samplers/index.ts';
import type { MachineRow } from './host-messages.ts';

const WINDOWS: Partial<Record<string, GeneratorWindow>> = { ramp: 'ramp', hold: 'messages', broadcasts: 'broadcasts' };

export class MachineWindows {
  /** Keyed by the index of the stage in the run. */
  readonly #idle = new Map<number, { window: GeneratorWindow; sum: number; rows: number }>();
  readonly #shares = new Map<number, { window: ShareWindow; mean: MachineShares }>();

  add(
    { atUs, cpuIdlePercent, shares }: MachineRow,
    { stages, samplesBeganAtUs = atUs }: Pick<Measurements, 'stages' | 'samplesBeganAtUs'>,
  ): void {
    const stageAt = (timeUs: number) => stages.findLastIndex(({ t }) => t * 1e6 <= timeUs - samplesBeganAtUs);
    const windowOf = (stage: number) => WINDOWS[stages[stage]?.name ?? ''];
    if (shares) {
      const middle = stageAt(atUs - (shares.seconds * 1e6) / 2);
      const window = windowOf(middle);
      const before = this.#shares.get(middle);
      if (window) this.#shares.set(middle, { window, mean: meanShares([...(before ? [before.mean] : []), shares]) });
    }
    const stage = stageAt(atUs);
    const window = windowOf(stage);
    if (window === undefined || cpuIdlePercent === null) return;
    const { sum, rows } = this.#idle.get(stage) ?? { sum: 0, rows: 0 };
    this.#idle.set(stage, { window, sum: sum + cpuIdlePercent, rows: rows + 1 });
  }

  /** Mean idle CPU of the busiest stage of each window. An average over all ramps would hide the last, busiest one. */
  get cpuIdlePercent(): GeneratorHost['cpuIdlePercent'] {
    const lowest: GeneratorHost['cpuIdlePercent'] = {};
    for (const { window, sum, rows } of this.#idle.values())
      lowest[window] = Math.min(lowest[window] ?? 100, sum / rows);
    return lowest;
  }

  /** Shares of the stage of each window in which other programs took the most CPU. */
  get shares(): GeneratorHost['shares'] {
    const highest: GeneratorHost['shares'] = {};
    for (const { window, mean } of this.#shares.values()) {
      const before = highest[window];
      if (!before || takenShare(mean) > takenShare(before)) highest[window] = mean;
    }
    return highest;
  }
}
