/**
 * A connection to the control namespace of one worker. It reconnects automatically, and its requests have a timeout.
 */
import { io, type Socket } from 'socket.io-client';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import type { TlsOptions } from '../../../protocol/wire/connection.ts';
import { CONTROL_NAMESPACE, type ControlAnswer, type ControlRequest } from '../../../protocol/wire/events.ts';
import { guardClient } from '../../../protocol/wire/guard-client.ts';
import { httpAgentFor } from '../../../protocol/wire/http-agent.ts';
import { absenceReasonOf } from '../absence.ts';
import { withTimeLimit } from '../late-answers.ts';
import {
  type ControlEndpoint,
  connectFailure,
  controlConnectError,
  type LookupAll,
  UnansweredRequestError,
  workerUnreachableError,
} from './control-errors.ts';
import { parseControlReply } from './replies.ts';

const TIMEOUT_MS = 5000;
/**
 * Longest time to wait for a refusal by the worker, in milliseconds. It is enough for several attempts to reconnect.
 */
const REFUSAL_TIMEOUT_MS = 1000;
const CLOSED = 'ECONNREFUSED';
/**
 * Maximum size of a worker's reply in bytes. It is several times the size of the largest reply, which is the record of
 * an event loop over a day. A larger reply would block the run while it is parsed.
 */
const MAX_REPLY_BYTES = 8 * 1024 ** 2;

export interface ControlOptions {
  tls?: TlsOptions;
  /** Timeout of the connect and of every request except `gc`, in milliseconds. */
  timeoutMs?: number;
  look?: LookupAll;
}

export class ControlConnection {
  readonly url: string;
  readonly connected: Promise<void>;
  readonly #socket: Socket;
  readonly #timeoutMs: number;
  #failure: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Error of the last attempt to connect; undefined while the connection is open. */
  #connectError: CapacityError | undefined;

  constructor({ url, address }: ControlEndpoint, token: string, { tls = {}, timeoutMs = TIMEOUT_MS }: ControlOptions) {
    this.url = address ? `${url} (${address.address})` : url;
    this.#timeoutMs = timeoutMs;
    this.#socket = io(new URL(CONTROL_NAMESPACE, url).href, {
      extraHeaders: { authorization: `Bearer ${token}` },
      transports: ['websocket'],
      ...({ agent: httpAgentFor(url, tls, { address }), maxPayload: MAX_REPLY_BYTES } as object),
      // Prevents socket.io-client from sharing one connection between requests to the same URL.
      forceNew: true,
      timeout: timeoutMs,
      // Reconnects after a short delay, because the run needs a restarted worker for publishing and statistics.
      reconnectionDelay: 100,
      reconnectionDelayMax: 200,
    });
    guardClient(this.#socket.io);
    this.#socket.on('connect', () => {
      this.#failure = undefined;
      this.#connectError = undefined;
    });
    this.#socket.on('connect_error', (error) => {
      this.#failure = connectFailure(error);
      this.#connectError = controlConnectError(this.url, error);
    });
    const connecting = new Promise<void>((resolve, reject) => {
      const fail = (reason: string) => reject(workerUnreachableError(this.url, reason));
      // socket.io-client's own timeout covers only the Engine.IO handshake.
      this.#timer = setTimeout(fail, timeoutMs, `no answer within ${timeoutMs} ms`);
      this.#socket.once('connect', resolve);
      this.#socket.once('connect_error', (error) => reject(controlConnectError(this.url, error)));
      onceClosed(this.#socket, (reason) =>
        fail(`it closed the connection before the control namespace opened (${reason})`),
      );
    });
    this.connected = connecting.finally(() => clearTimeout(this.#timer));
    // Prevents an unhandled rejection before the promise is awaited.
    this.connected.catch(() => {});
  }

  get isConnected(): boolean {
    return this.#socket.connected;
  }

  get failure(): string | undefined {
    return this.#failure;
  }

  /**
   * Waits until the connection is open. Repeats attempts that time out, because the worker may be blocked.
   * @returns false if the port is closed, if the worker refuses the run, or after `timeoutMs`
   */
  async reconnected(timeoutMs: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const check = () => {
      if (this.isConnected || this.#isRefused || this.#failure === CLOSED || !this.#socket.active) resolve();
    };
    for (const event of ['connect', 'connect_error'] as const) this.#socket.on(event, check);
    check();
    await withTimeLimit(promise, timeoutMs).catch(() => {});
    for (const event of ['connect', 'connect_error'] as const) this.#socket.off(event, check);
    return this.isConnected;
  }

  /**
   * Returns why the worker refuses the run; undefined if the worker accepts the run, or does not answer within a
   * second.
   */
  async refusal(): Promise<CapacityError | undefined> {
    const isOpen = await this.reconnected(REFUSAL_TIMEOUT_MS);
    return !isOpen && this.#isRefused ? this.#connectError : undefined;
  }

  get #isRefused(): boolean {
    return this.#connectError !== undefined && absenceReasonOf(this.#connectError) === 'refused';
  }

  async request<E extends ControlRequest>(
    event: E,
    args: unknown[] = [],
    timeoutMs = this.#timeoutMs,
  ): Promise<ControlAnswer<E>> {
    if (!this.#socket.connected) throw this.#connectError ?? workerUnreachableError(this.url, 'connection lost');
    let answer: unknown;
    try {
      answer = await this.#socket.timeout(timeoutMs).emitWithAck(event, ...args);
    } catch {
      // socket.io-client's rejection does not distinguish a timeout from a lost connection.
      if (!this.#socket.connected) {
        const { code, message, fix } = workerUnreachableError(this.url, `connection lost during \`${event}\``);
        throw new UnansweredRequestError(code, message, fix);
      }
      throw new UnansweredRequestError(
        'CONTROL_TIMEOUT',
        `worker ${this.url} did not answer \`${event}\` within ${timeoutMs} ms`,
      );
    }
    const reply = parseControlReply(event, answer);
    if (reply === undefined) {
      throw new UnansweredRequestError(
        'VERSIONS_DIFFER',
        `worker ${this.url} answered \`${event}\` with something else than a reply`,
      );
    }
    if (reply.ok) return reply.value;
    throw new CapacityError(reply.code, `worker ${this.url} refused \`${event}\`: ${reply.message}`, 'see its log');
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#socket.disconnect();
  }
}

/**
 * Calls `onClosed` once, when the connection closes or the server disconnects the socket.
 * @param socket a socket that is connecting
 * @param onClosed receives Socket.IO's reason and the transport's details, such as a WebSocket's CloseEvent as
 * `context`
 */
function onceClosed(socket: Socket, onClosed: (reason: string, details: unknown) => void): void {
  let isCalled = false;
  const call = (reason: string, details: unknown) => {
    if (!isCalled) onClosed(reason, details);
    isCalled = true;
  };
  socket.once('disconnect', call);
  // While connecting, only the transport reports a close. After the connect, the reason of `disconnect` is better.
  const { engine } = socket.io as { engine?: typeof socket.io.engine };
  engine?.once('close', (reason, details) => process.nextTick(call, reason, details));
}
