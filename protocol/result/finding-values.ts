/** The numbers in the message of a finding, as values of their own: no reader parses a sentence. */
import type { FindingValue } from './findings.ts';

/** @param unit of all of them; empty for counts @returns each number by its name, without those that are unknown */
export function valuesOf(named: Record<string, number | null | undefined>, unit = ''): FindingValue[] {
  return Object.entries(named).flatMap(([name, value]) =>
    value === undefined || value === null ? [] : [{ name, value, unit, low95: null, high95: null }],
  );
}
