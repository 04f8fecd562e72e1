/** Requests one metrics page repeatedly. The page belongs to the server itself or to an exporter. */

import { CapacityError } from '../../../protocol/codes/errors.ts';
import { mergeHeaders, splitUserInfo } from '../../../protocol/wire/basic-auth.ts';
import {
  absenceReasonOf,
  describeAbsence,
  type SourceAbsence,
  SourceAbsentError,
  SourceAvailability,
} from '../absence.ts';
import { AnsweringProcess, type PageAnswer } from './answering-process.ts';
import { type JsonQuery, readJsonPage, WholePage } from './json-page.ts';
import {
  MAX_CORES,
  PageLines,
  type PageReading,
  type PrometheusQuery,
  readPage,
  requireFigures,
  WRONG_UNIT_HINT,
} from './page.ts';
import { OWN_CPU_METRIC } from './page-figures.ts';

export type PageQuery = PrometheusQuery | JsonQuery;

/** Time limit for receiving a complete metrics page, in milliseconds. */
const TIMEOUT_MS = 2000;
/** Maximum size of a metrics page in bytes. A page from cAdvisor has some MB. */
const MAX_BYTES = 64 * 1024 ** 2;
/**
 * Number of successive timeouts after which the metrics page is requested less often, because each timeout delays a
 * memory reading.
 */
const GIVE_UP_AFTER = 2;
const RETRY_MS = 10_000;

export class PageReader {
  readonly #query: PageQuery;
  /** Request headers, with basic authorization if the URL contains a user name. */
  readonly #headers: Record<string, string>;
  readonly #process = new AnsweringProcess();
  /** Number of failed readings, not counting readings that the server refused. */
  failures = 0;
  readonly #availability = new SourceAvailability();
  #timedOutInARow = 0;
  #retryAtMs = 0;
  #failure: Error = new SourceAbsentError('unanswered', 'not read yet');
  /** The previous reading of the page. Each reading waits for it, so that the readings stay in order. */
  #previous: Promise<unknown> = Promise.resolve();

  private constructor(query: PageQuery) {
    const { url, headers } = splitUserInfo(query.url);
    this.#query = { ...query, url };
    this.#headers = mergeHeaders(headers, query.headers ?? {});
  }

  get url(): string {
    return this.#query.url;
  }

  /** Why the metrics page has no figures now; undefined if it has figures. */
  get absence(): SourceAbsence | undefined {
    return this.#availability.absence;
  }

  /** Whether different processes answer at the URL. */
  get alternates(): boolean {
    return this.#process.alternates;
  }

  /**
   * Opens a metrics page.
   * @throws CapacityError SOURCE_UNREACHABLE, or METRICS_MISSING if the page has no memory figure of a process,
   * container or host
   */
  static async open(query: PageQuery): Promise<PageReader> {
    const reader = new PageReader(query);
    try {
      const text = await reader.#scrape();
      if ('labels' in query) requireFigures(text, query);
      else readJsonPage(text, query);
      reader.#availability.succeed();
    } catch (error) {
      if (error instanceof CapacityError) throw error;
      const fix =
        absenceReasonOf(error) === 'refused'
          ? 'put a valid user and password into its URL (http://user:password@host/metrics), or a token into its `headers`'
          : 'correct its URL; curl it from this machine';
      throw new CapacityError('SOURCE_UNREACHABLE', `no metrics from ${reader.url}: ${whyNot(error)}`, fix);
    }
    return reader;
  }

  /**
   * Reads the figures of the metrics page. Sends no request if the page recently timed out twice in a row.
   * @throws Error with the reason if there are no figures
   */
  read(): Promise<PageReading> {
    const reading = this.#previous.then(() => this.#read());
    this.#previous = reading.catch(() => {});
    return reading;
  }

  async #read(): Promise<PageReading> {
    try {
      if (this.#timedOutInARow >= GIVE_UP_AFTER && performance.now() < this.#retryAtMs) throw this.#failure;
      const reading = await this.#process.note(await this.#answer(), () => this.#answer());
      this.#timedOutInARow = 0;
      if (this.#process.impossible) throw new Error(`its CPU time rises faster than possible; ${WRONG_UNIT_HINT}`);
      this.#availability.succeed();
      return { ...reading, identity: `${reading.identity} ${this.#process.restarts}` };
    } catch (error) {
      if (error !== this.#failure) this.#fail(error);
      if (absenceReasonOf(this.#failure) !== 'refused') this.failures++;
      throw this.#failure;
    }
  }

  #fail(error: unknown): void {
    this.#timedOutInARow = isTimeout(error) ? this.#timedOutInARow + 1 : 0;
    this.#retryAtMs = performance.now() + RETRY_MS;
    const absence = this.#availability.fail(error, whyNot(error));
    this.#failure = new SourceAbsentError(absence.reason, describeAbsence(this.url, absence), absence);
  }

  async #answer(): Promise<PageReading & PageAnswer> {
    const text = await this.#scrape();
    const query = this.#query;
    const reading = 'labels' in query ? readPage(text, query) : readJsonPage(text, query);
    const maxCores = OWN_CPU_METRIC in reading.values ? MAX_CORES : Number.POSITIVE_INFINITY;
    return {
      ...reading,
      cpuSeconds: reading.figures.cpuSeconds,
      maxCores,
      atMs: performance.now(),
    };
  }

  async #scrape(): Promise<string> {
    // Each request opens a new connection, to notice if several processes share the address.
    const isText = 'labels' in this.#query;
    const accept = isText ? 'text/plain;version=0.0.4' : 'application/json';
    const headers = { accept, ...this.#headers, connection: 'close' };
    const response = await fetch(this.#query.url, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
    const page = isText ? new PageLines() : new WholePage();
    let size = 0;
    for await (const chunk of response.body ?? []) {
      page.add(chunk);
      size += chunk.length;
      if (size > MAX_BYTES) throw new Error(`more than ${MAX_BYTES / 1024 ** 2} MB`);
    }
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    return page.text();
  }
}

function isTimeout(error: unknown): boolean {
  return (error as Error).name === 'TimeoutError';
}

function whyNot(error: unknown): string {
  const { message, cause } = error as Error & { cause?: NodeJS.ErrnoException };
  if (isTimeout(error)) return `no answer within ${TIMEOUT_MS / 1000} s`;
  return cause?.code ?? cause?.message ?? message;
}
