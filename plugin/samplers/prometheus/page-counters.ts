/**
 * Reads the counters of a metrics page that a server writes about itself. If counters fall, another process has written
 * the page.
 */
import { EXPORTER_PATTERN } from './page-figures.ts';

export type PageCounters = Record<string, number>;

/** Maximum number of counters to compare. It is enough, because a new process resets all of its counters to zero. */
const MAX_COUNTERS = 100;
const COUNTER = /^# TYPE ([\w:]+) counter\s*$/;
const SAMPLE = /^([\w:]+)(\{[^}]*\})? +([\d.eE+]+)(?: |$)/;
const OF_PROCESS = /^(process|nodejs)_/;

/**
 * Returns the counters of a metrics page by name and labels. Empty for an exporter's page, because a restart of the
 * exporter is not a restart of the server.
 */
export function parseCounters(text: string): PageCounters {
  const names = new Set<string>();
  const found: PageCounters = {};
  let isOfProcess = false;
  for (const line of text.split('\n')) {
    const declared = COUNTER.exec(line)?.[1];
    if (declared !== undefined) names.add(declared).add(`${declared}_total`);
    const [, name = '', labels = '', value] = SAMPLE.exec(line) ?? [];
    if (EXPORTER_PATTERN.test(name)) return {};
    isOfProcess ||= OF_PROCESS.test(name);
    if (names.size > 0 && names.has(name) && Object.keys(found).length < MAX_COUNTERS)
      found[name + labels] = Number(value);
  }
  return isOfProcess ? found : {};
}

/** Returns the sum of a metric's samples over all labels; undefined if the page does not have the metric. */
export function metricTotal(text: string, metric: string): number | undefined {
  const values = text.split('\n').flatMap((line) => {
    const [, name, , value] = SAMPLE.exec(line) ?? [];
    return name === metric ? Number(value) : [];
  });
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0);
}

export function hasCounterFallen(before: PageCounters, now: PageCounters): boolean {
  return Object.entries(before).some(([key, value]) => (now[key] ?? value) < value);
}
