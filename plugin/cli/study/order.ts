/** The order of a study's runs: blocks that have every combination once, each in an order of its own. */
import { createHash } from 'node:crypto';
import type { Levels, Plan } from '../../../protocol/documents/study.ts';
import { combinationsOf, labelOf } from '../../../report/study/summarize.ts';

export interface PlannedRun {
  /** From 1. */
  number: number;
  /** From 1. */
  block: number;
  levels: Levels;
}

/**
 * A machine that drifts meets all levels alike, because each block has them all, and none is always first. The order
 * follows from the plan alone, so a study that is resumed continues in it.
 */
export function orderOf(plan: Plan): PlannedRun[] {
  const { repeat, seed } = plan;
  const combinations = combinationsOf(plan);
  return Array.from({ length: repeat }, (_, index) => index + 1).flatMap((block) =>
    combinations
      .map((levels, index) => ({ levels, lot: lotOf(`${seed}:${block}:${index}:${labelOf(levels)}`) }))
      .sort((a, b) => (a.lot < b.lot ? -1 : 1))
      .map(({ levels }, index) => ({ number: (block - 1) * combinations.length + index + 1, block, levels })),
  );
}

/** As good as random, and the same for the same ticket. */
function lotOf(ticket: string): string {
  return createHash('sha256').update(ticket).digest('hex');
}
