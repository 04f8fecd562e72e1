/** The verdict on a perfect run with changes by a test. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { CodedFindingDetail } from '../../plugin/findings/check.ts';
import { accountsChecks } from '../../plugin/findings/checks/connections/accounts-checks.ts';
import { copiesChecks } from '../../plugin/findings/checks/delivery/copies-checks.ts';
import { ownEventChecks } from '../../plugin/findings/checks/delivery/own-event-checks.ts';
import { timesChecks } from '../../plugin/findings/checks/generator/times-checks.ts';
import { concludeFigures } from '../../plugin/findings/conclude.ts';
import { findingsCausedBy, rootFindings, runChecks } from '../../plugin/findings/find.ts';
import type { Measurements } from '../../plugin/run/measurements/measurements.ts';
import type { FindingCode } from '../../protocol/codes/finding-codes.ts';
import type { Finding, FindingValue } from '../../protocol/result/findings.ts';
import type { Result } from '../../protocol/result/result.ts';
import { finding } from './findings.ts';
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
  const { verdict, findings, outcome } = concludeFigures(measured, result);
  for (const found of findings) assertValues(found);
  const roots = rootFindings(findings);
  return { outcome, status: verdict.status, findings: roots, codes: roots.map(({ code }) => code) };
}

/** Notes that the workers accepted connections of other users. */
export function othersAccepted({ observations }: Measurements): void {
  observations.note('othersAccepted', { when: { at: 'broadcasts' }, connections: 3 });
}

/** @returns the findings that follow from the delivery figures alone */
export function deliveryReasons(
  delivery: Result['delivery'],
  latency: Result['latency'],
  measured: Measurements,
): CodedFindingDetail[] {
  const result = { ...perfectResult(), delivery, latency };
  const all = runChecks([...ownEventChecks, ...copiesChecks, ...timesChecks, ...accountsChecks], result, measured);
  const explained = all.flatMap(({ code, message }) =>
    findingsCausedBy(
      finding(code, message),
      all.map(({ code }) => finding(code)),
      result,
      measured,
    ),
  );
  return all.filter(({ code }) => !explained.includes(code));
}

/** A change of the run, the expected codes of the findings, and words of the first message. */
export type Case = [
  situation: string,
  change: Change,
  codes?: FindingCode | FindingCode[],
  ...details: (string | number)[],
];

export function testCases(cases: Case[]): void {
  for (const [situation, change, expected = [], ...details] of cases) {
    it(`the verdict reports ${String(expected) || 'nothing'} for: ${situation}`, () => {
      const { codes, findings } = verdictOf(change);
      assert.deepEqual(codes, [expected].flat());
      assertNames(findings[0]?.message, details);
    });
  }
}

/**
 * Numbers that are names, not values: process ids, ports, workers, broadcasts, paths, percentiles, and numbers in
 * quoted text.
 */
const NAMES =
  /`[^`]*`|"[^"]*"|\$\.\S+|--\S+|\b(pid|port|process|worker|broadcast|wave|HTTP|TLS) \d[\d, ]*|\b1 % of|\(9\d %\)|9\d % within|(answered|then|with) \d+ (\w+(,? \w+)*:|\()|\(its .*\)|the server sent a message of .*|answered \d+;|(close|confirmation|acknowledgement) within \d+(\.\d+)? s/gi;
/** Factors that convert the units in printed messages, such as kB, to the units of the result. */
const UNITS: Record<string, Record<string, number>> = {
  s: { s: 1, ms: 1000 },
  ms: { s: 1e-3, ms: 1 },
  KB: { bytes: 1024, 'bytes/s': 1024 },
  MB: { bytes: 1024 ** 2 },
  bytes: { bytes: 1 },
  '%': { '%': 1 },
  '/s': { '/s': 1 },
};
const NUMBER = String.raw`\d[\d,]*(?:\.\d+)?`;
/** Number with its unit. In a range, the unit can follow the end of the range. */
const SHOWN = new RegExp(
  `(?<![\\w.:/-])(${NUMBER})(?:(?= (?:to|and) ${NUMBER} ?(${Object.keys(UNITS).join('|')})\\b)| ?(${Object.keys(UNITS).join('|')})(?!\\w)|(?![\\w.:/]))`,
  'g',
);

/**
 * Asserts that the values of a finding contain each number of its message, so that no reader has to parse the sentence.
 */
export function assertValues({ code, message, values = [] }: Pick<Finding, 'code' | 'message' | 'values'>): void {
  for (const [shown, digits = '', ofRange, own] of message.replace(NAMES, '').matchAll(SHOWN)) {
    const unit = ofRange ?? own ?? '';
    const [, fraction = ''] = digits.split('.');
    const value = Number(digits.replaceAll(',', ''));
    const isShown = (one: FindingValue) => {
      const factor = unit === '' ? 1 : (UNITS[unit]?.[one.unit] ?? Number.NaN);
      return [one.value, one.low95, one.high95].some(
        (all) => Math.abs(Math.abs(all ?? Number.NaN) / factor - value) < 10 ** -fraction.length,
      );
    };
    assert.ok(values.some(isShown), `${code} has ${shown} ${unit} in its message, and not in its values: ${message}`);
  }
}

/** Asserts that the message contains each detail as a separate word or number. */
export function assertNames(message = '', details: (string | number)[]): void {
  for (const detail of details) {
    const text = String(detail).replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    assert.match(message, new RegExp(`(?<![\\w.,])${text}(?![\\w]|[.,]\\d)`));
  }
}

/** Returns fleet processes with these numbers of connections. */
export function fleetProcesses(held: number[], changes: { alive?: boolean; answers?: boolean } = {}) {
  const eventLoop = { utilization: 0, delayP50Ms: 0, delayP99Ms: 0, delayMaxMs: 0, cpuWaitShare: 0 };
  return held.map((connections, index) => ({
    ...{ pid: index + 100, index, alive: true, answers: true, connections, rssBytes: 1, cpuUs: 1, eventLoop },
    ...changes,
  }));
}
