/** Reads the counters of a page that a server writes about itself. They fall only if another process writes the page. */
import { EXPORTER } from './page-figures.ts';

export type Counters = Record<string, number>;

/** Maximum number of counters. A new process begins all of its counters at zero, so these are enough. */
const MAX_COUNTERS = 100;
const COUNTER = /^# TYPE ([\w:]+) counter\s*$/;
const SAMPLE = /^([\w:]+)(\{[^}]*\})? +([\d.eE+]+)(?: |$)/;
const OF_PROCESS = /^(process|nodejs)_/;

/** Returns counters by name and labels; empty for the page of an exporter, whose restart is not the server's. */
export function countersIn(text: string): Counters {
  const names = new Set<string>();
  const found: Counters = {};
  let isOfProcess = false;
  for (const line of text.split('\n')) {
    const declared = COUNTER.exec(line)?.[1];
    if (declared !== undefined) names.add(declared).add(`${declared}_total`);
    const [, name = '', labels = '', value] = SAMPLE.exec(line) ?? [];
    if (EXPORTER.test(name)) return {};
    isOfProcess ||= OF_PROCESS.test(name);
    if (names.size > 0 && names.has(name) && Object.keys(found).length < MAX_COUNTERS)
      found[name + labels] = Number(value);
  }
  return isOfProcess ? found : {};
}

export function hasFallen(before: Counters, now: Counters): boolean {
  return Object.entries(before).some(([key, value]) => (now[key] ?? value) < value);
}
