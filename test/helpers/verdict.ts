/** The verdict on a run of which all is well, but for what a test changes. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { accounts } from '../../plugin/result/reasons/accounts.ts';
import { copies } from '../../plugin/result/reasons/copies.ts';
import { ownEvent } from '../../plugin/result/reasons/own-event.ts';
import { times } from '../../plugin/result/reasons/times.ts';
import { evaluate, reasonsBy } from '../../plugin/result/verdict.ts';
import type { Measurements } from '../../plugin/run/measurements/measurements.ts';
import type { Reason, ReasonCode } from '../../protocol/codes/verdict-reasons.ts';
import type { Result } from '../../protocol/result/result.ts';
import { measurements } from './measurements.ts';
import { perfectResult } from './results.ts';

export const WORKER = { worker: 'w0', pid: 10, instance: 'a' };

export type Change = (result: Result, measured: Measurements) => unknown;

export const set =
  (part: keyof Result, changes: object) =>
  (result: Result): unknown =>
    Object.assign(result[part] ?? {}, changes);

export function verdictOf(change: Change = () => {}) {
  const result = perfectResult();
  const measured = measurements({ workersAtStart: [WORKER], workersAtEnd: [WORKER] });
  change(result, measured);
  const { status, reasons } = evaluate(measured, result);
  return { status, reasons, codes: reasons.map(({ code }) => code) };
}

/** What is found in the figures of delivery alone. */
export function deliveryReasons(
  delivery: Result['delivery'],
  latency: Result['latency'],
  measured: Measurements,
): Reason[] {
  return reasonsBy(
    [...ownEvent, ...copies, ...times, ...accounts],
    { ...perfectResult(), delivery, latency },
    measured,
  );
}

/** The reasons that there are, none without a code, and numbers and names in the message of the first. */
export type Case = [what: string, change: Change, codes?: ReasonCode | ReasonCode[], ...details: (string | number)[]];

export function testCases(cases: Case[]): void {
  for (const [what, change, expected = [], ...details] of cases) {
    it(`${what}: ${String(expected) || 'nothing'}`, () => {
      const { codes, reasons } = verdictOf(change);
      assert.deepEqual(codes, [expected].flat());
      assertNames(reasons[0]?.message, details);
    });
  }
}

/** The message has each of them, as a word or number of its own. */
export function assertNames(message = '', details: (string | number)[]): void {
  for (const detail of details) {
    const text = String(detail).replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    assert.match(message, new RegExp(`(?<![\\w.,])${text}(?![\\w]|[.,]\\d)`));
  }
}

/** Of fleet processes that hold so many connections each. */
export function fleetProcesses(held: number[], changes: { alive?: boolean; answers?: boolean } = {}) {
  const eventLoop = { utilization: 0, delayP50Ms: 0, delayP99Ms: 0, delayMaxMs: 0, cpuWaitShare: 0 };
  return held.map((connections, index) => ({
    ...{ pid: index + 100, index, alive: true, answers: true, connections, rssBytes: 1, cpuUs: 1, eventLoop },
    ...changes,
  }));
}
