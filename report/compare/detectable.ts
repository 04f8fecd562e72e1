/** Smallest changes that a comparison would have detected in each deciding figure, by the noise of its own runs. */
import { accuracyOf } from '../figures/figures.ts';
import { shareText } from '../text/format.ts';
import type { Comparison } from './compare.ts';

/** Minimum number of runs: the deviation of fewer can be small by chance. */
const LEAST_RUNS = 4;

interface Detectable {
  title: string;
  /** Share of the reference that 80 % of such comparisons would detect. */
  share: number;
  /** Accuracy of the measurement itself, which more runs do not improve. */
  accuracy: number;
}

/** Returns the detectable changes of the primary figures that both sides have, smallest first; infinite if the noise is unknown. */
export function detectableOf({ figures }: Pick<Comparison, 'figures'>, index: number): Detectable[] {
  return figures
    .flatMap((figure): Detectable[] => {
      const { primary, title, spreads, differences } = figure;
      const { value = null, detectable = null } = differences[index - 1] ?? {};
      const reference = Math.abs(spreads[0]?.mean ?? 0);
      if (!primary || value === null || reference === 0) return [];
      const share = detectable === null ? Number.POSITIVE_INFINITY : detectable / reference;
      return [{ title, share, accuracy: accuracyOf(figure, reference) / reference }];
    })
    .sort((a, b) => a.share - b.share);
}

/** Returns whether the runs were enough to detect a change of that share in all figures that are accurate enough for it. */
export function detectsShare({ sets, figures }: Comparison, index: number, share: number): boolean {
  const found = detectableOf({ figures }, index).filter(({ accuracy }) => accuracy <= share);
  const runs = Math.min(...[0, index].map((set) => sets[set]?.usable ?? 0));
  return runs >= LEAST_RUNS && found.length > 0 && found.every((one) => one.share <= share);
}

/** Returns, for example, `would have shown a change of 9 % in Connect p99, 22 % in One way p99`; undefined if the noise is unknown. */
export function detectableText(comparison: Comparison, index: number): string | undefined {
  const known = detectableOf(comparison, index).filter(({ share }) => Number.isFinite(share));
  if (known.length === 0) return undefined;
  return `would have shown a change of ${known.map(({ title, share }) => `${shareText(share)} in ${title}`).join(', ')}`;
}
