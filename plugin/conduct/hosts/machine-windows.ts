/** What a host that brings load tells of its machine, added up by the windows of the run. */
import type { MachineShares } from '../../../protocol/result/machine-schema.ts';
import type { GeneratorHost, GeneratorWindow, ShareWindow } from '../../run/measurements/generator-measured.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import { takenShare } from '../../run/windows/resource-windows.ts';
import { meanShares } from '../../samplers/index.ts';
import type { MachineRow } from './host-messages.ts';

const WINDOWS: Partial<Record<string, GeneratorWindow>> = { ramp: 'ramp', hold: 'messages', broadcasts: 'broadcasts' };

export class MachineWindows {
  /** By the number of the stage in the run. */
  readonly #idle = new Map<number, { window: GeneratorWindow; sum: number; rows: number }>();
  readonly #shares = new Map<number, { window: ShareWindow; mean: MachineShares }>();

  /** @param run so far */
  add(
    { atUs, cpuIdlePercent, shares }: MachineRow,
    { stages, samplesBeganAtUs = atUs }: Pick<Measurements, 'stages' | 'samplesBeganAtUs'>,
  ): void {
    const stageAt = (timeUs: number) => stages.findLastIndex(({ t }) => t * 1e6 <= timeUs - samplesBeganAtUs);
    const windowOf = (number: number) => WINDOWS[stages[number]?.name ?? ''];
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

  /** An average over all ramps would hide the last one, in which most is connected. */
  get cpuIdlePercent(): GeneratorHost['cpuIdlePercent'] {
    const least: GeneratorHost['cpuIdlePercent'] = {};
    for (const { window, sum, rows } of this.#idle.values()) least[window] = Math.min(least[window] ?? 100, sum / rows);
    return least;
  }

  /** Of several ramps, that in which others took most. */
  get shares(): GeneratorHost['shares'] {
    const most: GeneratorHost['shares'] = {};
    for (const { window, mean } of this.#shares.values()) {
      const before = most[window];
      if (!before || takenShare(mean) > takenShare(before)) most[window] = mean;
    }
    return most;
  }
}
