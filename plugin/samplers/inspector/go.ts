/**
 * Reads the memory of a Go server from its `net/http/pprof` pages: the text of a heap profile ends with the figures
 * from `runtime.MemStats`. The memory figure includes the stacks of goroutines, because a Go server needs at least one
 * goroutine per connection. It excludes memory of C code and of mmap.
 */
import { z } from 'zod';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { splitUserInfo } from '../../../protocol/wire/basic-auth.ts';
import { SourceAbsentError } from '../absence.ts';
import { ListeningPorts } from '../processes/listeners.ts';
import {
  bytesSchema,
  COLLECTIONS_PER_READING,
  GC_TIMEOUT_MS,
  type InspectedMemory,
  type InspectedProcess,
} from './inspected.ts';

/**
 * Pattern of the paths that Node's inspector has, which does not support TLS. A URL with another path belongs to a
 * pprof page.
 */
const INSPECTOR_PATH = /^\/(json(\/.*)?)?$/;
/** Time limit of a memory reading without a garbage collection, in milliseconds. Go answers such a request at once. */
const READ_TIMEOUT_MS = 10_000;
const FIND_TIMEOUT_MS = 2000;
const LOOPBACK = ['127.0.0.1', '[::1]'];
/** Maximum size of a heap profile in bytes. The profile of a program with 10,000 allocation sites has some MB. */
const MAX_BYTES = 32 * 1024 ** 2;
const FIX =
  'serve `net/http/pprof` in the server, and name the URL of its pages, such as http://127.0.0.1:6060/debug/pprof';
const FIX_PROCESS = 'let each URL lead to one process, which stays the same during the run';
const FIRST_LINE = /^heap profile: \d+: \d+ \[\d+: \d+\] @ heap\/\d+$/;
const STATS = '\n# runtime.MemStats\n';
/** Number of garbage collections for which Go keeps the times. */
const TIMES = 256;

const count = z.coerce.number().int().nonnegative();
/**
 * `PauseNs` and `PauseEnd` are ring buffers: the entry of collection `n` has the index `(n + 255) % 256`. The times
 * exceed the exact range of JavaScript numbers.
 */
const times = z.array(z.string().regex(/^\d+$/)).length(TIMES);
const memStatsSchema = z.object({
  HeapAlloc: z.coerce.number().pipe(bytesSchema),
  StackInuse: z.coerce.number().pipe(bytesSchema),
  NumGC: count,
  LastGC: z.string().regex(/^\d+$/),
  PauseNs: times,
  PauseEnd: times,
});
type MemStats = z.infer<typeof memStatsSchema>;

export function isGoUrl({ protocol, pathname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && !INSPECTOR_PATH.test(pathname));
}

export class GoServer implements InspectedProcess {
  readonly name: string;
  readonly runtime = 'go';
  readonly #url: URL;
  readonly #credentials: Record<string, string>;
  readonly #readTimeoutMs: number;
  readonly #closing = new AbortController();
  /** The previous figures from the pprof page. */
  #last: MemStats | undefined;

  /**
   * @param pages URL of the pprof index, or of the heap profile
   * @param readTimeoutMs time limit of a reading without a garbage collection
   */
  constructor(pages: URL, readTimeoutMs = READ_TIMEOUT_MS) {
    this.#readTimeoutMs = readTimeoutMs;
    const { url, headers } = splitUserInfo(pages);
    this.#credentials = headers;
    this.#url = new URL(url);
    this.#url.pathname = `${this.#url.pathname.replace(/(\/heap)?\/*$/, '')}/heap`;
    this.name = this.#url.host;
  }

  async read(collect: boolean): Promise<InspectedMemory> {
    this.#last ??= await this.#request(false);
    if (!collect) return memoryOf(await this.#next(false));
    let pauseMs = 0;
    for (let left = COLLECTIONS_PER_READING; ; left--) {
      const memory = memoryOf(await this.#next(true));
      pauseMs = Math.max(pauseMs, memory.pauseMs);
      if (left === 1) return { ...memory, pauseMs };
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(new SourceAbsentError('gone', 'the run has ended'));
  }

  /**
   * Requests a reading, and checks that the same process has answered.
   * @throws CapacityError SOURCE_UNREACHABLE if a different process answered; SourceAbsentError if the process did not
   * collect its garbage
   */
  async #next(collect: boolean): Promise<MemStats> {
    const [before, now] = [this.#last as MemStats, await this.#request(collect)];
    this.#last = now;
    const isSame =
      now.NumGC - before.NumGC >= TIMES || now.PauseEnd[(before.NumGC + TIMES - 1) % TIMES] === before.LastGC;
    if (!isSame || now.NumGC < before.NumGC)
      throw new CapacityError(
        'SOURCE_UNREACHABLE',
        `another Go process answers at ${this.#shown} than before`,
        FIX_PROCESS,
      );
    if (collect && now.NumGC === before.NumGC)
      throw new SourceAbsentError('unsupported', `${this.#shown} made no garbage collection when asked for it`);
    return now;
  }

  /**
   * Requests a pprof page.
   * @throws CapacityError SOURCE_UNREACHABLE
   */
  async #request(collect: boolean): Promise<MemStats> {
    const timeoutMs = collect ? GC_TIMEOUT_MS : this.#readTimeoutMs;
    const url = new URL(this.#url);
    url.searchParams.set('debug', '1');
    url.searchParams.set('gc', collect ? '1' : '0');
    try {
      // Each request opens a new connection, to notice if several processes share the address.
      const headers = { ...this.#credentials, connection: 'close' };
      const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(timeoutMs)]);
      return parseMemStats(await textOf(await fetch(url, { headers, redirect: 'manual', signal })));
    } catch (error) {
      const message = `no heap profile of Go at ${this.#shown}: ${whyNot(error, timeoutMs)}`;
      throw new CapacityError('SOURCE_UNREACHABLE', message, FIX, { cause: error });
    }
  }

  /** The URL without its query, because a query can contain a token. */
  get #shown(): string {
    return `${this.#url.origin}${this.#url.pathname}`;
  }
}

/**
 * Returns the URL of the pprof pages of a local process: at the usual path, on any of its ports; undefined if the
 * process serves none.
 */
export async function findPprof(pid: number): Promise<string | undefined> {
  for (const port of new ListeningPorts().of(pid) ?? []) {
    for (const host of LOOPBACK) {
      const url = `http://${host}:${port}/debug/pprof`;
      const server = new GoServer(new URL(url), FIND_TIMEOUT_MS);
      if (await server.read(false).catch(() => undefined)) return url;
    }
  }
  return undefined;
}

function memoryOf({ HeapAlloc, StackInuse, NumGC, PauseNs }: MemStats): InspectedMemory {
  return {
    keptBytes: HeapAlloc + StackInuse,
    heapUsedBytes: HeapAlloc,
    pauseMs: Number(PauseNs[(NumGC + TIMES - 1) % TIMES]) / 1e6,
  };
}

/**
 * Parses the memory figures of a heap profile.
 * @param text heap profile in the format `debug=1`
 * @throws Error if the text is another page or is incomplete
 */
export function parseMemStats(text: string): MemStats {
  if (!FIRST_LINE.test(text.slice(0, text.indexOf('\n'))))
    throw new Error('the answer is not the text of a heap profile');
  const lines = text.slice(text.lastIndexOf(STATS)).matchAll(/^# (\w+) = (?:(\d+)|\[([\d ]+)\])/gm);
  const read = Object.fromEntries([...lines].map(([, name, value, list]) => [name, value ?? list?.split(' ')]));
  const { data } = memStatsSchema.safeParse({ ...read, StackInuse: read.Stack });
  if (data) return data;
  throw new Error('its heap profile does not end with the figures of `runtime.MemStats`');
}

/**
 * Reads the body of an answer as text.
 * @throws Error for a status other than 200, or for an answer that is too large or too late
 */
async function textOf(response: Response): Promise<string> {
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`HTTP ${response.status}`);
  }
  const decoder = new TextDecoder();
  let [text, size] = ['', 0];
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    size += chunk.length;
    if (size > MAX_BYTES) throw new Error(`more than ${MAX_BYTES / 1024 ** 2} MB`);
  }
  return text;
}

function whyNot(error: unknown, timeoutMs: number): string {
  const { name, message, cause } = error as Error & { cause?: NodeJS.ErrnoException };
  if (name === 'TimeoutError') return `no complete answer within ${timeoutMs / 1000} s`;
  return cause?.code ?? cause?.message ?? message;
}
