/**
 * Serves a web page on loopback that shows the run in progress (live view), and `/metrics` with the same figures. At
 * the end of the run, open web pages switch to the report, which stays visible after this process has ended.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { mapTexts, withoutCredentials } from '../../protocol/base/secrets/known-secrets.ts';
import { HandlerGuard } from '../../server/guard.ts';
import { type HttpListener, openHttpListener } from '../../server/http-listener.ts';
import { resultWithin } from '../run/wait.ts';
import type { LiveFigures } from './live-figures.ts';
import { METRICS_CONTENT_TYPE, renderMetrics } from './prometheus-text.ts';

interface LiveViewOptions {
  /** Port of the live view's web page; 0 for any free port. */
  port: number;
  /**
   * Reads the figures of the run. It is called once per second, never concurrently, and is closed with the live view.
   */
  reader: { read(): Promise<LiveFigures>; close(): void };
  /** Milliseconds between two readings of the figures; by default 1000. */
  intervalMs?: number;
}

const HOST = '127.0.0.1';
/**
 * Largest number of HTTP connections to the live view. Many browsers can show the live view, because each opens only a
 * few connections.
 */
const MAX_CONNECTIONS = 100;
/** Milliseconds that browsers with an open live view have to fetch the report. */
const FETCH_TIMEOUT_MS = 3000;
/**
 * Largest number of bytes that wait to be sent to a browser. A browser with more waiting bytes has stopped reading, and
 * is disconnected.
 */
const MAX_BACKLOG_BYTES = 1024 * 1024;
const PAGE = join(import.meta.dirname, 'page');
/**
 * In the published package, the charts library is in the folder of the web page. In a checkout, it is in node_modules.
 */
const CHARTS_FILE = 'echarts.common.min.js';
const PACKED_CHARTS = join(PAGE, CHARTS_FILE);
const CHARTS = existsSync(PACKED_CHARTS)
  ? PACKED_CHARTS
  : createRequire(import.meta.url).resolve(`echarts/dist/${CHARTS_FILE}`);

/** Files of the live view and their content types, by URL path. */
const FILES: Record<string, [file: string, type: string]> = {
  '/': [join(PAGE, 'index.html'), 'text/html; charset=utf-8'],
  '/page.js': [join(PAGE, 'page.js'), 'text/javascript; charset=utf-8'],
  '/page.css': [join(PAGE, 'page.css'), 'text/css; charset=utf-8'],
  '/charts.js': [CHARTS, 'text/javascript; charset=utf-8'],
};
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src data:";

export class LiveView {
  readonly #options: LiveViewOptions;
  readonly #history = new LiveHistory();
  readonly #streams = new Set<ServerResponse>();
  #listener: HttpListener | undefined;
  #latest: LiveFigures | undefined;
  #report: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #reading = false;
  /** Called for each browser that has fetched the report. */
  #onFetched: () => void = () => {};

  private constructor(options: LiveViewOptions) {
    this.#options = options;
  }

  /**
   * Opens the server of the live view.
   * @throws CapacityError PORT_UNAVAILABLE
   */
  static async open(options: LiveViewOptions): Promise<LiveView> {
    const view = new LiveView(options);
    const guard = new HandlerGuard({ malformed: () => {} });
    const address = { port: options.port, host: HOST, tls: undefined, purpose: 'live view' };
    try {
      view.#listener = await openHttpListener(address, guard, (request, response) => view.#answer(request, response));
    } catch (error) {
      await view.close();
      throw error;
    }
    view.#listener.http.maxConnections = MAX_CONNECTIONS;
    await view.#tick();
    // If reading the figures fails, the web page keeps the previous figures until the next reading.
    const tick = () => {
      view.#tick().catch(() => {});
    };
    view.#timer = setInterval(tick, options.intervalMs ?? 1000);
    return view;
  }

  get url(): string {
    return `http://${HOST}:${this.#listener?.port}/`;
  }

  /**
   * Switches open web pages to the report, waits until they have fetched it, and closes the server.
   * @param report path of an HTML file; undefined to show only that the run has ended
   */
  async finish(report: string | undefined): Promise<void> {
    clearInterval(this.#timer);
    this.#report = report;
    const pages = this.#streams.size;
    this.#send('end', { report: report !== undefined });
    if (report !== undefined && pages > 0) {
      await resultWithin(this.#fetchedBy(pages), FETCH_TIMEOUT_MS);
    }
    await this.close();
  }

  /** Idempotent. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#options.reader.close();
    for (const stream of this.#streams) stream.end();
    await this.#listener?.close();
  }

  #fetchedBy(pages: number): Promise<void> {
    return new Promise((resolve) => {
      let left = pages;
      this.#onFetched = () => {
        left--;
        if (left === 0) resolve();
      };
    });
  }

  async #tick(): Promise<void> {
    if (this.#reading) return;
    this.#reading = true;
    try {
      const figures = await this.#options.reader.read();
      this.#latest = figures;
      this.#send('figures', { figures, point: this.#history.add(figures) });
    } finally {
      this.#reading = false;
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.setHeader('X-Content-Type-Options', 'nosniff');
    response.setHeader('Cache-Control', 'no-store');
    // Protects against DNS rebinding: a foreign web site could resolve its own host name to this address and read the
    // figures.
    if (!this.#isOwnHost(request.headers.host)) return refuse(response, 421);
    this.#listener?.admit(request.socket);
    if (request.method !== 'GET') return refuse(response, 405);
    const [path = '/'] = (request.url ?? '/').split('?');
    const file = Object.hasOwn(FILES, path) ? FILES[path] : undefined;
    if (file) {
      response.setHeader('Content-Security-Policy', PAGE_POLICY);
      return await sendFile(response, ...file);
    }
    if (path === '/events') return this.#openStream(response);
    if (path === '/metrics' && this.#latest) {
      response.setHeader('Content-Type', METRICS_CONTENT_TYPE);
      response.end(await renderMetrics(this.#latest));
    } else if (path === '/report.html' && this.#report !== undefined) {
      response.once('close', () => this.#onFetched());
      await sendFile(response, this.#report, 'text/html; charset=utf-8');
    } else refuse(response, 404);
  }

  #isOwnHost(host: string | undefined): boolean {
    return [HOST, 'localhost'].some((name) => host === `${name}:${this.#listener?.port}`);
  }

  /**
   * Opens a stream of server-sent events. Sends the figures since the start of the run first, then the current figures
   * every second.
   */
  #openStream(response: ServerResponse): void {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    this.#streams.add(response);
    response.once('close', () => this.#streams.delete(response));
    response.write(event('history', { points: this.#history.points }));
    if (this.#latest) response.write(event('figures', { figures: this.#latest }));
  }

  #send(name: string, data: unknown): void {
    const text = event(name, data);
    for (const stream of this.#streams) {
      if (stream.writableLength > MAX_BACKLOG_BYTES) stream.destroy();
      else stream.write(text);
    }
  }
}

function event(name: string, data: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(mapTexts(data, withoutCredentials))}\n\n`;
}

async function sendFile(response: ServerResponse, file: string, type: string): Promise<void> {
  const content = await readFile(file);
  response.setHeader('Content-Type', type);
  response.end(content);
}

function refuse(response: ServerResponse, status: number): void {
  response.statusCode = status;
  response.end();
}

type LivePoint = ReturnType<typeof pointOf>;

const MAX_POINTS = 1800;

/**
 * Figures since the start of the run, for the charts of a web page that is opened during the run. They take at most a
 * few hundred KB.
 */
export class LiveHistory {
  points: LivePoint[] = [];

  /**
   * Adds a point to the charts. If the history is full, every second point is removed first, so the history always
   * covers the whole run.
   * @returns the added point
   */
  add(figures: LiveFigures): LivePoint {
    const point = pointOf(figures);
    this.points.push(point);
    if (this.points.length > MAX_POINTS) this.points = this.points.filter((_, index) => index % 2 === 0);
    return point;
  }
}

/** Returns the figures that the charts show. Memory is PSS, or RSS if PSS is unknown. */
function pointOf({ seconds, connections: { achievedRatePerSec: ratePerSec }, samples, generator }: LiveFigures) {
  const memoryBytes = Object.entries(samples).flatMap(([layer, sample]) => {
    const bytes = typeof sample === 'number' ? undefined : (sample.pssBytes ?? sample.rssBytes);
    return bytes === undefined ? [] : [[layer, bytes] as const];
  });
  const { connections } = samples;
  return {
    ...{ seconds, connections, ratePerSec, memoryBytes: Object.fromEntries(memoryBytes) },
    loopDelayMs: generator.delayP99Ms,
  };
}
