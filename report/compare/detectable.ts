/**
 * Computes the smallest change of each primary figure that a comparison would have detected, from the noise of the
 * compared runs.
 */
import { figureAccuracy } from '../figures/figures.ts';
import { changeText } from '../text/format.ts';
import type { Comparison } from './compare.ts';

/** Minimum number of runs to estimate the noise. The standard deviation of fewer runs can be small by chance. */
const LEAST_RUNS = 4;

interface Detectable {
  title: string;
  /** Smallest change that 80 % of such comparisons would detect, as a share of the reference's value. */
  share: number;
  /** Accuracy of the measurement as a share of the reference's value. More runs do not improve it. */
  accuracy: number;
}

/**
 * Returns the detectable change of each primary figure that both sets have, the smallest change first. Infinite if the
 * noise is unknown.
 */
export function detectableChanges({ figures }: Pick<Comparison, 'figures'>, index: number): Detectable[] {
  return figures
    .flatMap((figure): Detectable[] => {
      const { primary, title, spreads, differences } = figure;
      const { value = null, detectable = null } = differences[index - 1] ?? {};
      const reference = Math.abs(spreads[0]?.mean ?? 0);
      if (!primary || value === null || reference === 0) return [];
      const share = detectable === null ? Number.POSITIVE_INFINITY : detectable / reference;
      return [{ title, share, accuracy: figureAccuracy(figure, reference) / reference }];
    })
    .sort((a, b) => a.share - b.share);
}

/**
 * Returns whether the comparison would have detected a change of this share in every figure that is measured accurately
 * enough.
 */
export function detectsShare({ sets, figures }: Comparison, index: number, share: number): boolean {
  const found = detectableChanges({ figures }, index).filter(({ accuracy }) => accuracy <= share);
  const runs = Math.min(...[0, index].map((set) => sets[set]?.usable ?? 0));
  return runs >= LEAST_RUNS && found.length > 0 && found.every((one) => one.share <= share);
}

/** Returns, for example, `would have shown a change of 9 % in Connect p99, 22 % in One way p99`; undefined if the noise is unknown. */
export function detectableText(comparison: Comparison, index: number): string | undefined {
  const known = detectableChanges(comparison, index).filter(({ share }) => Number.isFinite(share));
  if (known.length === 0) return undefined;
  return `would have shown a change of ${known.map(({ title, share }) => `${changeText(share)} in ${title}`).join(', ')}`;
}
