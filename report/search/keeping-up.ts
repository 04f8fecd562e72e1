/**
 * Whether the deployment kept up with what it was asked for. One that does not has a queue that grows all the time: what comes
 * out of it is later and later, even if nothing is lost and the drain delivers the rest.
 */
import type { Varied } from '../../protocol/documents/search.ts';
import type { Result } from '../../protocol/result/result.ts';
import { median } from '../statistics/statistics.ts';
import { decimals } from '../text/format.ts';

/** A moment of the window, in seconds. */
interface Point {
  at: number;
  /** How late the work of that moment is done, by a constant that does not matter. */
  late: number;
}

/** A search has at least this much of broadcasts or messages in each run: a rate that is 5 % too high is half a second late then. */
export const LEAST_WINDOW_SECONDS = 10;
const PARTS = 4;
/** Likewise: of fewer, nobody can tell. */
export const LEAST_BROADCASTS = 2 * PARTS;
/** Share of the time: to be that much slower than asked is not noise. */
const SLOWER = 0.02;
/** Single pauses move the median of a part by less. */
const LEAST_GROWTH_SECONDS = 0.1;

export interface Behind {
  /** By which what was asked for at the end of the window was done later than at its begin. */
  growthSeconds: number;
  text: string;
}

/** @param level of the run, if it is a rate of broadcasts: these are due at it, whenever they left */
export function behindOf(result: Result, vary: Varied, level?: number): Behind[] {
  const { delivery, messages } = result;
  const rate = vary === 'broadcastsPerSec' ? level : undefined;
  const copies = (delivery?.batches ?? []).flatMap(({ seq, t, dueToLastMs, lastMs }): Point[] => {
    const ms = dueToLastMs ?? lastMs;
    if (t === null || ms === null) return [];
    const at = rate === undefined ? t : seq / rate;
    return [{ at, late: t - at + ms / 1000 }];
  });
  const { window } = messages ?? {};
  // As many as wait are as many seconds of work.
  const answers = (window?.unanswered ?? []).map(
    (waiting, index, { length }): Point => ({
      at: ((window?.seconds ?? 0) * index) / (length - 1),
      late: waiting / (window?.sentPerSec || Number.POSITIVE_INFINITY),
    }),
  );
  return [
    ...growth(copies, 'copies fell behind', 'their last receivers'),
    ...growth(answers, 'answers to messages fell behind', 'they'),
  ];
}

function growth(points: Point[], what: string, who: string): Behind[] {
  const parts = Array.from({ length: PARTS }, (_, part) =>
    points.slice((part * points.length) / PARTS, ((part + 1) * points.length) / PARTS),
  );
  if (points.length < LEAST_BROADCASTS) return [];
  const middle = (key: keyof Point) => parts.map((part) => median(part.map((point) => point[key])) as number);
  const [late, at] = [middle('late'), middle('at')];
  // A machine that others use lets it catch up now and then, but not to where it was.
  const grows = Math.min(...late.slice(PARTS / 2)) > Math.max(...late.slice(0, PARTS / 2));
  const [growthSeconds, seconds] = [late, at].map((one) => (one.at(-1) as number) - (one[0] as number)) as [
    number,
    number,
  ];
  if (!grows || growthSeconds < Math.max(LEAST_GROWTH_SECONDS, SLOWER * seconds)) return [];
  return [
    {
      growthSeconds,
      text: `${what}: within ${decimals(seconds, 1)} s, ${who} were ${decimals(growthSeconds, 1)} s later`,
    },
  ];
}
