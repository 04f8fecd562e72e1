/** Reads figures from a JSON status page of the user's server. */

import { formatJsonPath, type JsonPath, parseJsonPath, valuesAtPath } from '../../../protocol/base/json-path.ts';
import { printableLine } from '../../../protocol/base/printable.ts';
import { tryOrUndefined } from '../../../protocol/base/try-or-undefined.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { LARGEST_FIGURE } from '../../../protocol/link/bounded-schemas.ts';
import type { PageCounters } from './page-counters.ts';
import { namesText, OWN_CPU_METRIC, type PageValues, sumPageFigures } from './page-figures.ts';

export interface JsonQuery {
  url: string;
  headers?: Record<string, string> | undefined;
  rss?: JsonPath | undefined;
  heapUsed?: JsonPath | undefined;
  external?: JsonPath | undefined;
  cpuMicroseconds?: JsonPath | undefined;
  pid?: JsonPath | undefined;
}

/**
 * For each figure: its formula in `FIGURE_FORMULAS`, the divisor for the value in the page, and the lowest plausible
 * value.
 */
const FIGURES = {
  rss: { formula: 'process_resident_memory_bytes', divisor: 1, least: 1e6 },
  heapUsed: { formula: 'nodejs_heap_size_used_bytes', divisor: 1, least: 1e5 },
  external: { formula: 'nodejs_external_memory_bytes', divisor: 1, least: 0 },
  cpuMicroseconds: { formula: OWN_CPU_METRIC, divisor: 1e6, least: 0 },
};
const MAX_BYTES = 1024 ** 2;
const MAX_DEPTH = 6;
const MAX_NUMBERS = 50;

/** Collects the text of a JSON page, up to a maximum size. */
export class WholePage {
  readonly #decoder = new TextDecoder();
  #text = '';

  /**
   * Adds a chunk of the page's text.
   * @throws Error if the page becomes too large
   */
  add(chunk: Uint8Array): void {
    this.#text += this.#decoder.decode(chunk, { stream: true });
    if (this.#text.length > MAX_BYTES) throw new Error(`more than ${MAX_BYTES / 1024 ** 2} MB of JSON`);
  }

  text(): string {
    return this.#text;
  }
}

/**
 * Reads the figures at the configured paths of the page.
 * @throws CapacityError METRICS_MISSING if there is no number at a path, or if a number is implausible for bytes
 */
export function readJsonPage(text: string, query: JsonQuery) {
  const page = tryOrUndefined(() => ({ content: JSON.parse(text) as unknown }));
  if (!page) throw missing(query, `is not JSON: it begins with "${printableLine(text, 40)}"`, 'correct its URL');
  const values: PageValues = {};
  for (const [figure, { formula, divisor, least }] of Object.entries(FIGURES)) {
    const path = query[figure as keyof typeof FIGURES];
    if (path) values[formula] = sumAt(page.content, path, least, query) / divisor;
  }
  const uptime = valuesAtPath(page.content, ['uptime'])[0];
  return {
    values,
    figures: sumPageFigures([values]),
    machine: undefined,
    identity: JSON.stringify(valuesAtPath(page.content, query.pid ?? ['pid'])),
    counters: (typeof uptime === 'number' ? { uptime } : {}) as PageCounters,
    total: (path: string) => totalAt(page.content, path),
  };
}

/** Returns the sum of the numbers at a path; undefined if there are none. */
function totalAt(content: unknown, text: string): number | undefined {
  const path = parseJsonPath(text);
  const found = path ? valuesAtPath(content, path) : [];
  const numbers = found.filter((value) => typeof value === 'number');
  return numbers.length === 0 ? undefined : numbers.reduce((sum, value) => sum + value, 0);
}

function sumAt(content: unknown, path: JsonPath, least: number, query: JsonQuery): number {
  const found = valuesAtPath(content, path);
  const at = formatJsonPath(path);
  const [other] = found.filter((value) => typeof value !== 'number');
  if (found.length === 0 || other !== undefined) {
    const what = other === undefined ? `nothing at ${at}` : `no number at ${at}, but ${typeof other}`;
    const numbers = numbersIn(content).map(formatJsonPath);
    throw missing(
      query,
      `has ${what}; its numbers are at ${printableLine(namesText(numbers), 500) || 'no path'}`,
      'correct the path, or let the server write numbers: `process.memoryUsage()`',
    );
  }
  const numbers = found as number[];
  const impossible = numbers.find((value) => !(value >= least && value <= LARGEST_FIGURE));
  if (impossible === undefined) return numbers.reduce((sum, value) => sum + value, 0);
  throw missing(query, `has ${impossible} at ${at}, too little or too much for a process`, 'let the page give bytes');
}

/** Returns paths to numbers in a JSON page. A large page has too many numbers to return all paths. */
function numbersIn(content: unknown, path: string[] = [], found: string[][] = []): string[][] {
  if (typeof content === 'number') found.push(path);
  if (typeof content !== 'object' || content === null || path.length >= MAX_DEPTH) return found;
  for (const [key, inside] of Object.entries(content)) {
    if (found.length >= MAX_NUMBERS) break;
    numbersIn(inside, [...path, key.slice(0, MAX_NUMBERS)], found);
  }
  return found;
}

function missing({ url }: JsonQuery, what: string, fix: string): CapacityError {
  return new CapacityError('METRICS_MISSING', `${url} ${what}`, fix);
}
