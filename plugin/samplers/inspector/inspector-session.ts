/** A client of the inspector protocol of Node and Deno: requests and their answers over one WebSocket. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { z } from 'zod';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { Absent } from '../absence.ts';
import { beginningOf, within } from '../late-answers.ts';

const CONNECT_TIMEOUT_MS = 5000;
const REQUEST_TIMEOUT_MS = 5000;
const CLOSE_TIMEOUT_MS = 2000;
/** A heap profile with 100,000 call frames has about 20 MB. */
const MAX_ANSWER_BYTES = 64 * 1024 ** 2;
const MAX_LIST_BYTES = 64 * 1024;

const listSchema = z.array(z.object({ webSocketDebuggerUrl: z.url().optional() }));
const answerSchema = z.object({
  id: z.int(),
  result: z.unknown().optional(),
  error: z.object({ message: z.string() }).optional(),
});
const evaluatedSchema = z.object({
  result: z.object({ value: z.unknown().optional(), objectId: z.string().optional() }),
  exceptionDetails: z.object({ text: z.string() }).optional(),
});

type Evaluated = z.infer<typeof evaluatedSchema>['result'];

/**
 * @param base `http://127.0.0.1:9229`
 * @returns the WebSocket URL of its first target, on the host and port of `base`
 * @throws an error of the system if nothing listens there; Absent if the answer is not that of an inspector
 */
export async function debuggerUrl(base: URL, timeoutMs = CONNECT_TIMEOUT_MS): Promise<string> {
  const response = await fetch(new URL('/json/list', base), {
    signal: AbortSignal.timeout(timeoutMs),
    redirect: 'error',
  });
  const text = await beginningOf(response.body ?? [], MAX_LIST_BYTES);
  const [target] = listSchema.safeParse(parsed(text)).data ?? [];
  if (!target?.webSocketDebuggerUrl) throw new Absent('unsupported', `${base.origin} is not an inspector`);
  return `ws://${base.host}${new URL(target.webSocketDebuggerUrl).pathname}`;
}

/** Every request rejects with `Absent` after its time-out, or when the connection closes. */
export class InspectorSession {
  readonly #socket: WebSocket;
  readonly #open = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #closed: Promise<unknown>;
  #requests = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    this.#closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => {});
    socket.on('message', (data) => this.#settle(String(data)));
    socket.once('close', () => {
      for (const { reject } of this.#open.values()) reject(new Absent('gone', 'the inspector closed the connection'));
      this.#open.clear();
    });
  }

  /** @param url of the WebSocket @throws CapacityError SOURCE_UNREACHABLE */
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

  /** @returns the answer's `result`, which the caller parses */
  async request(method: string, params: object = {}, timeoutMs = REQUEST_TIMEOUT_MS): Promise<unknown> {
    if (this.#socket.readyState !== WebSocket.OPEN) throw new Absent('gone', 'the inspector is closed');
    const id = ++this.#requests;
    const answer = Promise.withResolvers<unknown>();
    this.#open.set(id, answer);
    // It rejects when the connection closes, perhaps after the time-out.
    answer.promise.catch(() => {});
    this.#socket.send(JSON.stringify({ id, method, params }));
    try {
      return await within(answer.promise, timeoutMs);
    } finally {
      this.#open.delete(id);
    }
  }

  /** @param expression in the global scope of the process @returns its value, or the id of the object */
  async evaluate(expression: string, { byValue = true, timeoutMs = REQUEST_TIMEOUT_MS } = {}): Promise<Evaluated> {
    const params = { expression, returnByValue: byValue, includeCommandLineAPI: true, silent: true };
    const answer = await this.request('Runtime.evaluate', params, timeoutMs);
    const { result, exceptionDetails } = evaluatedSchema.parse(answer);
    if (exceptionDetails) throw new Absent('unsupported', `the process does not evaluate it: ${exceptionDetails.text}`);
    return result;
  }

  /** Resolves when the other side has closed the connection, or after a time limit. */
  async ended(timeoutMs = CLOSE_TIMEOUT_MS): Promise<void> {
    await within(this.#closed, timeoutMs).catch(() => {});
  }

  /** Idempotent. */
  async close(): Promise<void> {
    this.#socket.close();
    await this.ended();
    this.#socket.terminate();
  }

  #settle(text: string): void {
    const { data } = answerSchema.safeParse(parsed(text));
    const waiting = data && this.#open.get(data.id);
    if (data?.error) waiting?.reject(new Absent('unsupported', `the inspector refuses it: ${data.error.message}`));
    else waiting?.resolve(data?.result);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
