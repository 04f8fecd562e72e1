/** A planned fault: whether its account is right. What it cost is no reason, and what happened beside it is. */

import type { Reason } from '../../../protocol/codes/verdict-reasons.ts';
import type { Result } from '../../../protocol/result/result.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import { isSameProcess } from '../../run/measurements/worker-identity.ts';
import { sum } from '../sums.ts';

type Measured = Omit<Result, 'verdict'>;

export function* faultProblems({ aborted }: Measurements, { fault }: Measured): Generator<Reason> {
  if (!fault || aborted) return;
  const { connections, stayed, dropped, back, notBack, curve } = fault;
  const away = sum(Object.values(notBack));
  const openAtEnd = curve.at(-1)?.connected ?? connections;
  const foots = connections === stayed + dropped && dropped === back + away;
  if (foots && openAtEnd === stayed + back) return;
  yield {
    code: 'FAULT_MISMATCH',
    message: `of ${connections} connections at the planned fault, ${stayed} stayed and ${dropped} dropped, ${back} of which are back and ${away} are not; the drops and returns leave ${openAtEnd} open`,
    fix: 'a bug: please report it with the folder of the run',
  };
}

/** @returns connections that the planned fault has cost for good */
export function lostAsPlanned({ fault }: Pick<Measured, 'fault'>): number {
  // What a virtual user closes itself is not lost.
  const { 'io client disconnect': _, ...lost } = fault?.notBack ?? {};
  return sum(Object.values(lost));
}

interface ChangedWorkers {
  /** Their names. */
  restarted: string[];
  /** Of each control URL that leads to another worker, as it was: of which and to which. */
  elsewhere: string[];
}

/** The workers are in the order of the control URLs; names can be the same. @returns what changed other than as planned */
export function changedWorkers({ workersAtStart, workersAtEnd, fault }: Measurements): ChangedWorkers {
  const { before, after } = fault?.workers ?? { before: workersAtEnd, after: [] };
  const names = new Set(fault?.restarted);
  const elsewhere: string[] = [];
  const compare = (earlier: typeof before, later: typeof before) => {
    for (const [index, one] of later.entries()) {
      if (isSameProcess(earlier[index], one)) continue;
      const wasThere = earlier.some((other) => isSameProcess(other, one));
      if (wasThere) elsewhere.push(`that of ${earlier[index]?.worker ?? 'none'} to ${one.worker}`);
      else names.add(one.worker);
    }
  };
  compare(workersAtStart, before);
  if (after.length > 0) compare(after, workersAtEnd);
  return { restarted: [...names], elsewhere };
}
