/** Sends requests of the inspector protocol to Node and Deno over one WebSocket. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { z } from 'zod';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { SourceAbsentError } from '../absence.ts';
import { bodyBeginning, withTimeLimit } from '../late-answers.ts';

const CONNECT_TIMEOUT_MS = 5000;
const REQUEST_TIMEOUT_MS = 5000;
const CLOSE_TIMEOUT_MS = 2000;
/** Maximum size of an inspector's answer in bytes. A heap profile with 100,000 call frames has about 20 MB. */
const MAX_ANSWER_BYTES = 64 * 1024 ** 2;
const MAX_LIST_BYTES = 64 * 1024;

const listSchema = z.array(z.object({ webSocketDebuggerUrl: z.url().optional() }));
const answerSchema = z.object({
  id: z.int(),
  result: z.unknown().optional(),
  error: z.object({ message: z.string() }).optional(),
});
/**
 * Events of a worker thread: its inspector is available (`workerInfo`), it sends an answer (`message`), or it exits.
 */
const eventSchema = z.object({
  method: z.string().startsWith('NodeWorker.'),
  params: z.object({
    sessionId: z.string(),
    workerInfo: z.object({ workerId: z.string() }).optional(),
    message: z.string().optional(),
  }),
});
const evaluatedSchema = z.object({
  result: z.object({ value: z.unknown().optional(), objectId: z.string().optional() }),
  exceptionDetails: z.object({ text: z.string() }).optional(),
});

type Evaluated = z.infer<typeof evaluatedSchema>['result'];

/**
 * Requests the WebSocket URL of an inspector.
 * @param base address such as `http://127.0.0.1:9229`
 * @returns the WebSocket URL of the first target, with the host and port of `base`
 * @throws a system error if nothing listens there; SourceAbsentError if the answer does not come from an inspector
 */
export async function debuggerUrl(base: URL, timeoutMs = CONNECT_TIMEOUT_MS): Promise<string> {
  const response = await fetch(new URL('/json/list', base), {
    signal: AbortSignal.timeout(timeoutMs),
    redirect: 'error',
  });
  const text = await bodyBeginning(response.body ?? [], MAX_LIST_BYTES);
  const [target] = listSchema.safeParse(parsed(text)).data ?? [];
  if (!target?.webSocketDebuggerUrl) throw new SourceAbsentError('unsupported', `${base.origin} is not an inspector`);
  return `ws://${base.host}${new URL(target.webSocketDebuggerUrl).pathname}`;
}

/**
 * Requests to one thread through the inspector. Each request rejects with `SourceAbsentError` after its timeout, or
 * when the connection closes.
 */
abstract class Requests {
  readonly #open = new Map<number, PromiseWithResolvers<unknown>>();
  #count = 0;

  /**
   * Sends a message to the thread.
   * @throws SourceAbsentError if the connection is closed
   */
  protected abstract send(text: string): void;

  /**
   * Sends a request to the thread.
   * @returns the unparsed `result` of the answer
   */
  async request(method: string, params: object = {}, timeoutMs = REQUEST_TIMEOUT_MS): Promise<unknown> {
    const id = ++this.#count;
    const answer = Promise.withResolvers<unknown>();
    // The answer rejects when the connection closes, even if the request has already timed out.
    answer.promise.catch(() => {});
    this.send(JSON.stringify({ id, method, params }));
    this.#open.set(id, answer);
    try {
      return await withTimeLimit(answer.promise, timeoutMs);
    } finally {
      this.#open.delete(id);
    }
  }

  /**
   * Evaluates an expression in the global scope of the thread.
   * @returns the value of the expression, or the id of the object
   */
  async evaluate(expression: string, { byValue = true, timeoutMs = REQUEST_TIMEOUT_MS } = {}): Promise<Evaluated> {
    const params = { expression, returnByValue: byValue, includeCommandLineAPI: true, silent: true };
    const answer = await this.request('Runtime.evaluate', params, timeoutMs);
    const { result, exceptionDetails } = evaluatedSchema.parse(answer);
    if (exceptionDetails)
      throw new SourceAbsentError('unsupported', `the process does not evaluate it: ${exceptionDetails.text}`);
    return result;
  }

  /** Settles the request that the text answers. */
  receive(text: string): void {
    const { data } = answerSchema.safeParse(parsed(text));
    const waiting = data && this.#open.get(data.id);
    if (data?.error)
      waiting?.reject(new SourceAbsentError('unsupported', `the inspector refuses it: ${data.error.message}`));
    else waiting?.resolve(data?.result);
  }

  rejectAll(): void {
    for (const { reject } of this.#open.values())
      reject(new SourceAbsentError('gone', 'the inspector closed the connection'));
    this.#open.clear();
  }
}

/** A thread of `node:worker_threads`. Its requests go through the session of the main thread. */
export class ThreadSession extends Requests {
  /** Id of the thread, which is the same in every session with the process. */
  readonly threadId: string;
  readonly #main: InspectorSession;
  readonly #sessionId: string;

  constructor(main: InspectorSession, sessionId: string, threadId: string) {
    super();
    this.#main = main;
    this.#sessionId = sessionId;
    this.threadId = threadId;
  }

  protected send(message: string): void {
    const sent = this.#main.request('NodeWorker.sendMessageToWorker', { sessionId: this.#sessionId, message });
    sent.catch(() => this.rejectAll());
  }
}

/** A session with the main thread of a process. */
export class InspectorSession extends Requests {
  readonly #socket: WebSocket;
  readonly #closed: Promise<unknown>;
  readonly #threads = new Map<string, ThreadSession>();

  private constructor(socket: WebSocket) {
    super();
    this.#socket = socket;
    this.#closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => {});
    socket.on('message', (data) => this.receive(String(data)));
    socket.once('close', () => {
      for (const requests of [this, ...this.#threads.values()]) requests.rejectAll();
    });
  }

  /**
   * Opens a session.
   * @param url URL of the inspector's WebSocket
   * @throws CapacityError SOURCE_UNREACHABLE
   */
  static async connect(url: string): Promise<InspectorSession> {
    const socket = new WebSocket(url, {
      handshakeTimeout: CONNECT_TIMEOUT_MS,
      maxPayload: MAX_ANSWER_BYTES,
      perMessageDeflate: false,
    });
    const session = new InspectorSession(socket);
    try {
      await once(socket, 'open');
      return session;
    } catch (error) {
      socket.terminate();
      throw new CapacityError('SOURCE_UNREACHABLE', `no inspector answers at ${url}: ${(error as Error).message}`);
    }
  }

  /**
   * Returns the threads that the main thread has started. Empty in Deno, because its inspector does not list threads.
   */
  async threads(): Promise<ThreadSession[]> {
    await this.request('NodeWorker.enable', { waitForDebuggerOnStart: false }).catch(() => {});
    return [...this.#threads.values()];
  }

  /** Closes the session. Resolves when the process has closed the connection, or after a time limit. */
  async ended(timeoutMs = CLOSE_TIMEOUT_MS): Promise<void> {
    await withTimeLimit(this.#closed, timeoutMs).catch(() => {});
  }

  /** Idempotent. */
  async close(): Promise<void> {
    this.#socket.close();
    await this.ended();
    this.#socket.terminate();
  }

  protected send(text: string): void {
    if (this.#socket.readyState !== WebSocket.OPEN) throw new SourceAbsentError('gone', 'the inspector is closed');
    this.#socket.send(text);
  }

  override receive(text: string): void {
    const { data: event } = eventSchema.safeParse(parsed(text));
    if (!event) {
      super.receive(text);
      return;
    }
    const { sessionId, workerInfo, message } = event.params;
    if (workerInfo) this.#threads.set(sessionId, new ThreadSession(this, sessionId, workerInfo.workerId));
    else if (message !== undefined) this.#threads.get(sessionId)?.receive(message);
    else this.#threads.get(sessionId)?.rejectAll();
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
