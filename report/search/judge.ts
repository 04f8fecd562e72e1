/** Whether a level held, by the result of a run at it. */

import type { Blame, Condition, Outcome, SearchPlan } from '../../protocol/documents/search.ts';
import type { Result } from '../../protocol/result/result.ts';
import { checkConditions, conditionText, metText, whyUnknown } from '../conditions/conditions.ts';
import { counted, total } from '../text/format.ts';
import { type Broken, blamesOf, brokenBy, brokenIn, couldCause } from './blame.ts';
import { behindOf } from './keeping-up.ts';

export interface Judgement {
  outcome: Exclude<Outcome, 'error'>;
  /** Null if the level held. */
  blame: Blame | null;
  /** What happened, the most important first; if the level held, doubts that do not concern the answer. */
  because: string[];
}

/** By default, beside reasons of the verdict that lie with the deployment, and what it does not keep up with. */
const BY_DEFAULT: Condition[] = [
  { key: 'connections.failed', comparison: '>', value: 0 },
  { key: 'delivery.coverage', comparison: '<', value: 1 },
];

/**
 * A late generator can only make a level look worse: one that meets no condition in spite of it has held. One that does
 * tells nothing of the deployment, where the generator can be the cause of all that broke.
 *
 * `until` replaces the default rules, except that an INVALID run never holds, and that a level holds only where it was
 * reached: the rate, or the connections, unless a condition says how many may be missing.
 * @param level of the run
 */
export function judge(result: Result, { until, vary }: Pick<SearchPlan, 'until' | 'vary'>, level?: number): Judgement {
  const { verdict } = result;
  const blames = blamesOf(result);
  const invalid = verdict.status === 'INVALID';
  const notReached = (code: string) =>
    (vary === 'rate' && code === 'RATE_NOT_REACHED') ||
    (vary === 'connections' &&
      code === 'TARGET_NOT_REACHED' &&
      !until.some(({ key }) => key.startsWith('connections.')));
  const counting = blames.filter(
    ({ code, blame }) => (blame === 'deployment' && (until.length === 0 || invalid)) || notReached(code),
  );
  const checked = checkConditions(until.length > 0 ? until : BY_DEFAULT, result);
  const behind = until.length > 0 ? [] : behindOf(result, vary, level);
  const met = [
    ...checked.filter((one) => one.met).map((one) => metText(one, result)),
    ...behind.map(({ text }) => text),
  ];
  if (met.length > 0 || counting.length > 0 || invalid) {
    const broken: Broken[] = [
      ...checked.filter((one) => one.met).map(({ condition: { key } }) => brokenBy(key)),
      ...counting.map(({ code }) => brokenIn(code)),
      ...behind,
    ];
    const causes = (what: Broken) => blames.filter((one) => couldCause(one, what, result));
    // An INVALID run in which nothing else broke is lost by whatever made it so.
    const explained = broken.length === 0 ? causes('time') : broken.flatMap(causes);
    const isExcused = broken.every((what) => causes(what).length > 0);
    for (const blame of isExcused ? (['generator', 'machine'] as const) : []) {
      const because = blames.filter((one) => one.blame === blame && explained.includes(one)).map(({ text }) => text);
      if (because.length > 0) return { outcome: 'cannotTell', blame, because: [...because, ...met] };
    }
    if (met.length === 0 && counting.length === 0) {
      return { outcome: 'cannotTell', blame: 'measurement', because: blames.map(({ text }) => text) };
    }
    return { outcome: 'breaks', blame: 'deployment', because: [...met, ...lostFirst(result, counting)] };
  }
  const unknown = until.length > 0 ? checked.filter(({ value }) => value === null) : [];
  if (unknown.length > 0) {
    const because = unknown.map(({ condition }) => `\`${conditionText(condition)}\`: ${whyUnknown(condition, result)}`);
    return { outcome: 'cannotTell', blame: 'measurement', because };
  }
  return { outcome: 'holds', blame: null, because: blames.map(({ text }) => text) };
}

/** The causes, in words, before the codes that follow from them. */
function lostFirst({ connections: { lost, opened } }: Result, blames: { code: string; text: string }[]): string[] {
  const all = total(lost);
  const words =
    blames.some(({ code }) => code === 'CONNECTIONS_DROPPED') && all > 0
      ? [`${counted(all, 'connection')} of ${counted(opened, 'opened one')} ${all === 1 ? 'was' : 'were'} lost`]
      : [];
  return [...words, ...blames.map(({ text }) => text)];
}
