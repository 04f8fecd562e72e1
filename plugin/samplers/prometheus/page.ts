/** Reads the figures of a metrics page in Prometheus text format, and checks that the page has any. */

import parse from 'parse-prometheus-text-format';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { LARGEST_FIGURE } from '../../../protocol/link/bounded-schemas.ts';
import { metricTotal, parseCounters } from './page-counters.ts';
import {
  computePageValues,
  FIGURE_FORMULAS,
  isWantedMetric,
  MEMORY_FIGURES,
  type MetricSample,
  namesText,
  OWN_CPU_METRIC,
  START_METRICS,
  sumPageFigures,
  withoutExporter,
} from './page-figures.ts';
import { machineOfPage } from './page-machine.ts';

export interface PrometheusQuery {
  url: string;
  headers?: Record<string, string> | undefined;
  /** Labels that a sample must have to be counted. */
  labels: Record<string, string>;
}

export type PageReading = ReturnType<typeof readPage>;
export type PagesReading = Pick<PageReading, 'figures' | 'identity'> & Partial<Pick<PageReading, 'total'>>;

/** Maximum age in milliseconds of a sample with a timestamp. cAdvisor reads a container every 10 to 15 s. */
const MAX_AGE_MS = 20_000;
/** Maximum number of cores that one Socket.IO process can use. */
export const MAX_CORES = 8;
export const WRONG_UNIT_HINT = `${OWN_CPU_METRIC} is in seconds: does the page give milliseconds?`;
/** Tolerance in seconds for the clock of another host, and for the reported start time of a process. */
const CLOCK_MARGIN_SECONDS = 60;

/** Maximum number of ignored lines that are kept for error messages. */
const MAX_OTHER_LINES = 1000;
const MAX_LINE_LENGTH = 2 ** 16;
/**
 * Maximum number of characters in the lines that are used, enough for 15,000 samples from cAdvisor. Parsing them blocks
 * the run for a third of a second.
 */
const MAX_WANTED = 4 * 1024 ** 2;

/**
 * Filters the lines of a metrics page as they arrive. Parsing the whole page of cAdvisor, which has megabytes, would
 * block the run for too long.
 */
export class PageLines {
  readonly #lines: string[] = [];
  readonly #decoder = new TextDecoder();
  #others = 0;
  #wanted = 0;
  #unfinished = '';

  /**
   * Adds a chunk of the page.
   * @throws Error for a line that is too long, or if too many lines are used
   */
  add(chunk: Uint8Array): void {
    const lines = `${this.#unfinished}${this.#decoder.decode(chunk, { stream: true })}`.split('\n');
    this.#unfinished = lines.pop() ?? '';
    if (this.#unfinished.length > MAX_LINE_LENGTH) throw new Error(`a line of more than ${MAX_LINE_LENGTH} characters`);
    for (const line of lines) {
      const wanted = isWantedMetric(nameOf(line));
      if (wanted) this.#wanted += line.length;
      if (wanted || this.#others++ < MAX_OTHER_LINES) this.#lines.push(line);
    }
    if (this.#wanted > MAX_WANTED) throw new Error(`more than ${MAX_WANTED / 1024 ** 2} MB of the metrics that count`);
  }

  text(): string {
    return [...this.#lines, this.#unfinished].join('\n');
  }
}

/**
 * Parses the used lines of a metrics page.
 * @throws Error for old figures and impossible values
 */
export function readPage(text: string, query: PrometheusQuery) {
  const samples = samplesOf(samplesIn(text), query);
  const broken = samples.find(({ value }) => !(value >= 0 && value <= LARGEST_FIGURE));
  if (broken) throw new Error(`${broken.name} has an impossible value: ${broken.value}`);
  const nowMs = Date.now();
  const ageMs = samples.reduce((oldest, { atMs = nowMs }) => Math.max(oldest, nowMs - atMs), 0);
  if (ageMs > MAX_AGE_MS) throw new Error(`they are ${Math.round(ageMs / 1000)} s old`);
  const values = computePageValues(samples);
  const starts = samples.filter(({ name }) => START_METRICS.includes(name)).map(identityOf);
  return {
    values,
    figures: sumPageFigures([values]),
    /** Name of the host, if node_exporter serves the page. */
    machine: machineOfPage(samples, query.url),
    /** Value that changes when a process starts, restarts or exits. */
    identity: JSON.stringify(starts.sort()),
    counters: parseCounters(text),
    /** Returns the value of a counter that the user named; undefined if the page does not have it. */
    total: (counter: string) => metricTotal(text, counter),
  };
}

function samplesIn(text: string): MetricSample[] {
  const lines = text.split('\n').filter((line) => isWantedMetric(nameOf(line)));
  return parse(`${lines.join('\n')}\n`).flatMap(({ name, metrics }) =>
    metrics.map(({ value, labels = {}, timestamp_ms: atMs }) => ({
      name,
      value: value === '' ? Number.NaN : Number(value),
      labels,
      atMs: atMs === undefined ? undefined : Number(atMs),
    })),
  );
}

function samplesOf(all: MetricSample[], { labels }: PrometheusQuery): MetricSample[] {
  const ours = withoutExporter(all.filter((sample) => hasLabels(sample, labels)));
  const ofContainers = new Set(ours.flatMap(({ name, labels: { container } }) => (container ? name : [])));
  return ours.filter((sample) => !isTotal(sample, ofContainers));
}

function nameOf(line: string): string {
  return /^[\w:]*/.exec(line)?.[0] ?? '';
}

function hasLabels(sample: MetricSample, labels: Record<string, string>): boolean {
  return Object.entries(labels).every(([name, value]) => sample.labels[name] === value);
}

/**
 * Returns whether a sample is a sum over other samples. In Kubernetes, cAdvisor's samples without a container label are
 * sums over the pod's containers.
 */
function isTotal({ name, labels }: MetricSample, ofContainers: Set<string>): boolean {
  return name.startsWith('container_') && !labels.container && ofContainers.has(name);
}

/** The labels of an `_info` metric show the identity; for other metrics, the value does. */
function identityOf({ name, value, labels }: MetricSample): string {
  return JSON.stringify(name.endsWith('_info') ? Object.entries(labels).sort() : [name, value]);
}

/**
 * Checks before the load that the metrics page has figures of a layer.
 * @throws CapacityError METRICS_MISSING; Error if `readPage` throws
 */
export function requireFigures(text: string, query: PrometheusQuery): void {
  const { figures, values } = readPage(text, query);
  const samples = samplesOf(samplesIn(text), query);
  const groups = new Set(samples.flatMap(({ labels: { groupname } }) => groupname ?? []));
  if (groups.size > 1) {
    const fix = `name one of them: labels: { groupname: ${[...groups][0]} }`;
    throw missing(`${query.url} has several groups of processes: ${namesText([...groups])}`, fix);
  }
  if (!MEMORY_FIGURES.some((figure) => figures[figure] !== undefined)) throw memoryMissing(text, query);
  const startedAt = samples.find(({ name }) => name === 'process_start_time_seconds')?.value;
  const cpuSeconds = values[OWN_CPU_METRIC];
  if (startedAt === undefined || cpuSeconds === undefined) return;
  const ageSeconds = Math.max(0, Date.now() / 1000 - startedAt) + CLOCK_MARGIN_SECONDS;
  if (cpuSeconds <= MAX_CORES * ageSeconds) return;
  const used = `${Math.round(cpuSeconds)} s of CPU time in ${Math.round(ageSeconds)} s`;
  throw missing(`${query.url} has a process with ${used}, which is impossible`, WRONG_UNIT_HINT);
}

function memoryMissing(text: string, { url, labels }: PrometheusQuery): CapacityError {
  const wanted = MEMORY_FIGURES.flatMap((figure) => FIGURE_FORMULAS[figure].slice(-1));
  const selector = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  const others = samplesIn(text).map((sample) => `${sample.name}${JSON.stringify(sample.labels)}`);
  const names = text.split('\n').map(nameOf).filter(Boolean);
  const there = namesText([...new Set(others.length > 0 ? others : names)]) || 'no metrics';
  const withLabels = selector.length > 0 ? ` with the labels ${selector.join(', ')}` : '';
  return missing(
    `${url} has no memory of a process, container or host${withLabels}; it has ${there}`,
    `export one of ${wanted.join(', ')}: a Node server by prom-client's collectDefaultMetrics(), other programs by process-exporter`,
  );
}

function missing(message: string, fix: string): CapacityError {
  return new CapacityError('METRICS_MISSING', message, fix);
}
