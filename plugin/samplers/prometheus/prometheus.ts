/** Memory and CPU as a server reports them itself, or cAdvisor for its container, as text for Prometheus. */
import parse from 'parse-prometheus-text-format';
import { CapacityError } from '../../../protocol/errors.ts';
import { type Answer, AnsweringProcess } from './answering-process.ts';

/** Figure → metric, of which every matching sample is added up. */
export const PROMETHEUS_METRICS = {
  rssBytes: 'process_resident_memory_bytes',
  heapUsedBytes: 'nodejs_heap_size_used_bytes',
  externalBytes: 'nodejs_external_memory_bytes',
  workingSetBytes: 'container_memory_working_set_bytes',
  cpuSeconds: 'process_cpu_seconds_total',
  containerCpuSeconds: 'container_cpu_usage_seconds_total',
} as const;
const STARTED_AT = ['process_start_time_seconds', 'container_start_time_seconds'];

export type PrometheusFigure = keyof typeof PROMETHEUS_METRICS;

export interface PrometheusReading {
  figures: Partial<Record<PrometheusFigure, number>>;
  /** Another one after a process has started anew, come or gone. */
  identity: string;
}

export interface PrometheusQuery {
  url: string;
  /** Of the samples that count. */
  labels: Record<string, string>;
}

interface Sample {
  name: string;
  value: number;
  labels: Record<string, string>;
  atMs: number | undefined;
}

/** From the request to the end of the page. */
const TIMEOUT_MS = 2000;
/** A page of cAdvisor has some MB. */
const MAX_BYTES = 64 * 1024 ** 2;
/** A page that takes too long again and again is asked less often: whoever waits for it takes no samples. */
const GIVE_UP_AFTER = 2;
const RETRY_MS = 10_000;
/** cAdvisor reads a container every 10 to 15 s and gives the time of it: older figures are of another state. */
const MAX_AGE_MS = 20_000;
const WANTED = new Set<string>([...Object.values(PROMETHEUS_METRICS), ...STARTED_AT]);

export class PrometheusReader {
  readonly #query: PrometheusQuery;
  readonly #process = new AnsweringProcess();
  /** Readings that failed. */
  failures = 0;
  #timedOutInARow = 0;
  #retryAtMs = 0;
  #failure = new Error();
  /** Readings follow each other, so that their order is that of the figures. */
  #previous: Promise<unknown> = Promise.resolve();

  private constructor(query: PrometheusQuery) {
    this.#query = query;
  }

  get url(): string {
    return this.#query.url;
  }

  /** Several processes have answered in turn. */
  get alternates(): boolean {
    return this.#process.alternates;
  }

  /** @throws CapacityError METRICS_UNREACHABLE, or METRICS_MISSING without any memory of a process or container */
  static async open(query: PrometheusQuery): Promise<PrometheusReader> {
    const reader = new PrometheusReader(query);
    let text: string;
    try {
      text = await reader.#scrape();
    } catch (error) {
      const fix = 'correct its URL in workers.prometheus; curl it from this machine';
      throw new CapacityError('METRICS_UNREACHABLE', `no metrics from ${query.url}: ${whyNot(error)}`, fix);
    }
    const all = samplesIn(text);
    const { figures } = toReading(all, query);
    if (figures.rssBytes === undefined && figures.workingSetBytes === undefined) throw missing(query, text, all);
    return reader;
  }

  /** @throws Error with the reason why there are no figures: at once, where the page has taken too long twice in a row */
  read(): Promise<PrometheusReading> {
    const reading = this.#previous.then(() => this.#read());
    this.#previous = reading.catch(() => {});
    return reading;
  }

  async #read(): Promise<PrometheusReading> {
    try {
      if (this.#timedOutInARow >= GIVE_UP_AFTER && performance.now() < this.#retryAtMs) throw this.#failure;
      const { figures, identity } = await this.#process.note(await this.#answer(), () => this.#answer());
      this.#timedOutInARow = 0;
      return { figures, identity: `${identity} ${this.#process.startedAnew}` };
    } catch (error) {
      this.failures++;
      if (error !== this.#failure) this.#fail(error);
      throw this.#failure;
    }
  }

  #fail(error: unknown): void {
    this.#timedOutInARow = isTimeout(error) ? this.#timedOutInARow + 1 : 0;
    this.#retryAtMs = performance.now() + RETRY_MS;
    this.#failure = new Error(`no metrics from ${this.#query.url}: ${whyNot(error)}`);
  }

  async #answer(): Promise<PrometheusReading & Answer> {
    const reading = toReading(samplesIn(await this.#scrape()), this.#query);
    const { containerCpuSeconds, cpuSeconds = containerCpuSeconds } = reading.figures;
    return { ...reading, cpuSeconds, atMs: performance.now() };
  }

  async #scrape(): Promise<string> {
    // Each time another connection: behind one port, one that stays would always lead to the same of several processes.
    const headers = { accept: 'text/plain;version=0.0.4', connection: 'close' };
    const response = await fetch(this.#query.url, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of response.body ?? []) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > MAX_BYTES) throw new Error(`more than ${MAX_BYTES / 1024 ** 2} MB`);
    }
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    return Buffer.concat(chunks).toString('utf8');
  }
}

/** Only wanted lines are parsed: a page of cAdvisor has megabytes of others. */
function samplesIn(text: string): Sample[] {
  const lines = text.split('\n').filter((line) => WANTED.has(nameOf(line)));
  return parse(`${lines.join('\n')}\n`).flatMap(({ name, metrics }) =>
    metrics.map(({ value, labels = {}, timestamp_ms: atMs }) => ({
      name,
      value: Number(value),
      labels,
      atMs: atMs === undefined ? undefined : Number(atMs),
    })),
  );
}

function nameOf(line: string): string {
  return /^[\w:]*/.exec(line)?.[0] ?? '';
}

/** @throws Error for old figures, and for values that are no numbers */
function toReading(all: Sample[], { labels }: PrometheusQuery): PrometheusReading {
  const ours = all.filter((sample) => hasLabels(sample, labels));
  const samples = ours.filter((sample) => !isTotal(sample, ours));
  const broken = samples.find(({ value }) => !Number.isFinite(value));
  if (broken) throw new Error(`${broken.name} is no number`);
  const ageMs = Math.max(0, ...samples.map(({ atMs }) => (atMs === undefined ? 0 : Date.now() - atMs)));
  if (ageMs > MAX_AGE_MS) throw new Error(`they are ${Math.round(ageMs / 1000)} s old`);
  const of = (name: string) => samples.filter((sample) => sample.name === name).map(({ value }) => value);
  const figures: PrometheusReading['figures'] = {};
  for (const [figure, metric] of Object.entries(PROMETHEUS_METRICS)) {
    const values = of(metric);
    if (values.length > 0) figures[figure as PrometheusFigure] = values.reduce((sum, value) => sum + value, 0);
  }
  const starts = STARTED_AT.map((name) => of(name).toSorted((a, b) => a - b));
  const sizes = [PROMETHEUS_METRICS.rssBytes, PROMETHEUS_METRICS.workingSetBytes].map((name) => of(name).length);
  return { figures, identity: JSON.stringify([starts, sizes]) };
}

function hasLabels(sample: Sample, labels: Record<string, string>): boolean {
  return Object.entries(labels).every(([name, value]) => sample.labels[name] === value);
}

/** In Kubernetes, cAdvisor has a sample without a container that is the sum of those of the pod's containers. */
function isTotal({ name, labels }: Sample, all: Sample[]): boolean {
  if (!name.startsWith('container_') || labels.container) return false;
  return all.some((other) => other.name === name && Boolean(other.labels.container));
}

function missing({ url, labels }: PrometheusQuery, text: string, all: Sample[]): CapacityError {
  const wanted = `${PROMETHEUS_METRICS.rssBytes} or ${PROMETHEUS_METRICS.workingSetBytes}`;
  const selector = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  const others = all.map((sample) => `${sample.name}${JSON.stringify(sample.labels)}`);
  const names = text.split('\n').map(nameOf).filter(Boolean);
  const there = [...new Set(others.length > 0 ? others : names)];
  return new CapacityError(
    'METRICS_MISSING',
    `${url} has no ${wanted}${selector.length > 0 ? ` with the labels ${selector.join(', ')}` : ''}; it has ${there.slice(0, 10).join(', ') || 'no metrics'}${there.length > 10 ? `, and ${there.length - 10} more` : ''}`,
    'export default metrics (prom-client: collectDefaultMetrics()), or correct workers.prometheus',
  );
}

function isTimeout(error: unknown): boolean {
  return (error as Error).name === 'TimeoutError';
}

function whyNot(error: unknown): string {
  const { message, cause } = error as Error & { cause?: NodeJS.ErrnoException };
  if (isTimeout(error)) return `no answer within ${TIMEOUT_MS / 1000} s`;
  return cause?.code ?? cause?.message ?? message;
}
