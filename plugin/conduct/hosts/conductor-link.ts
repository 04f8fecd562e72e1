/** A host's connection to the conductor: pinned, with the token, and back again after a break; and the conductor's clock. */
import { setTimeout as delay } from 'node:timers/promises';
import { io, type Socket } from 'socket.io-client';
import { ClockLine } from '../../../protocol/clock/clock-line.ts';
import { addReading, type ClockReading, followClock, readClock } from '../../../protocol/clock/clock-reading.ts';
import { CapacityError } from '../../../protocol/errors.ts';
import { thisHost } from '../../../protocol/machine/host.ts';
import type { Join } from './join-line.ts';
import type { Refusal } from './messages.ts';
import { pinnedCertificate } from './pinned.ts';
import { Stream, type StreamSocket } from './stream.ts';

const CONNECT_TIMEOUT_MS = 5000;
const RETRY_MS = 1000;
/** Before the load, several at once; then all the time. */
const FIRST_READINGS = 16;
const READING_INTERVAL_MS = 333;
const READING_TIMEOUT_MS = 2000;

interface LinkOptions<Received> {
  join: Join;
  namespace: string;
  /** Tells the conductor who this is. */
  hello: unknown;
  onMessage(message: Received): void;
  /** The conductor has been away for `silentAfterMs`; or is back, and does not take this host any more. */
  onLost(refusal?: Refusal): void;
  /** How long the conductor may take to come up. */
  startTimeoutMs: number;
  silentAfterMs: number;
  signal: AbortSignal;
}

export class ConductorLink<Sent, Received> {
  readonly clock: ClockLine;
  readonly #socket: Socket;
  readonly #stream: Stream<Sent, Received>;
  readonly #unfollow: () => void;
  #silentTimer: NodeJS.Timeout | undefined;

  private constructor(
    socket: Socket,
    stream: Stream<Sent, Received>,
    clock: ClockLine,
    options: Pick<LinkOptions<Received>, 'onLost' | 'silentAfterMs'>,
  ) {
    this.#socket = socket;
    this.#stream = stream;
    this.clock = clock;
    socket.on('connect', () => {
      clearTimeout(this.#silentTimer);
      this.#stream.resend();
    });
    socket.on('connect_error', ({ data }: Error & { data?: Refusal }) => data && options.onLost(data));
    const awaitBack = () => {
      this.#silentTimer = setTimeout(() => options.onLost(), options.silentAfterMs);
    };
    socket.on('disconnect', awaitBack);
    // While the clock was read.
    if (!socket.connected) awaitBack();
    this.#unfollow = followClock(clock, () => readConductor(socket), READING_INTERVAL_MS);
  }

  /** @throws CapacityError CONDUCTOR_UNREACHABLE, JOIN_LINE_WRONG, or why the conductor refuses this host; the signal's reason */
  static async open<Sent, Received>(options: LinkOptions<Received>): Promise<ConductorLink<Sent, Received>> {
    const { join, namespace, hello, signal, startTimeoutMs } = options;
    const ca = await untilReached(join, startTimeoutMs, signal, () => pinnedCertificate(join));
    const host = join.host.includes(':') ? `[${join.host}]` : join.host;
    const socket = io(`https://${host}:${join.port}${namespace}`, {
      auth: { token: join.token, hello },
      transports: ['websocket'],
      forceNew: true,
      timeout: CONNECT_TIMEOUT_MS,
      reconnectionDelay: 200,
      reconnectionDelayMax: 1000,
      ca,
      // The certificate is its own authority, whatever name the conductor is reached by.
      ...{ checkServerIdentity: () => undefined },
    });
    // From the first moment on: the conductor may end the run while the clock is read.
    const stream = new Stream<Sent, Received>((message) => options.onMessage(message));
    stream.attach(socket as unknown as StreamSocket);
    try {
      await connected(socket, options, signal);
      const { kernel } = await askTime(socket);
      const clock = new ClockLine(kernel === thisHost().kernel);
      for (let reading = 0; reading < FIRST_READINGS; reading++) await addReading(clock, () => readConductor(socket));
      signal.throwIfAborted();
      if (!Number.isFinite(clock.boundUs)) throw new Error('its clock cannot be read');
      return new ConductorLink<Sent, Received>(socket, stream, clock, options);
    } catch (error) {
      socket.disconnect();
      signal.throwIfAborted();
      throw error instanceof CapacityError ? error : unreachable(join, error);
    }
  }

  send(message: Sent): void {
    this.#stream.send(message);
  }

  /** Resolves when all that was sent has arrived, or after `timeoutMs`. */
  async flushed(timeoutMs: number): Promise<void> {
    const deadlineMs = performance.now() + timeoutMs;
    while (this.#stream.pending > 0 && performance.now() < deadlineMs) await delay(10);
  }

  /** Idempotent. */
  close(): void {
    this.#unfollow();
    clearTimeout(this.#silentTimer);
    this.#socket.removeAllListeners();
    this.#socket.disconnect();
  }
}

/** Hosts may come up before the conductor. */
async function untilReached<T>(
  join: Join,
  timeoutMs: number,
  signal: AbortSignal,
  reach: () => Promise<T>,
): Promise<T> {
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    signal.throwIfAborted();
    try {
      return await reach();
    } catch (cause) {
      if (cause instanceof CapacityError) throw cause;
      if (performance.now() > deadlineMs) throw unreachable(join, cause);
      await delay(RETRY_MS, undefined, { signal });
    }
  }
}

function unreachable({ host, port }: Join, cause: unknown): CapacityError {
  return new CapacityError(
    'CONDUCTOR_UNREACHABLE',
    `the conductor at ${host}:${port} cannot be reached: ${(cause as NodeJS.ErrnoException).code ?? (cause as Error).message}`,
    'does `conduct` run there, and does every firewall between let this host connect to that port?',
    { cause },
  );
}

/** A refusal ends the attempts; a connection that fails is tried again, until the conductor has been silent for too long. */
async function connected(
  socket: Socket,
  { silentAfterMs }: Pick<LinkOptions<never>, 'silentAfterMs'>,
  signal: AbortSignal,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let last = new Error('it does not answer');
  const onAbort = () => reject(signal.reason);
  const timer = setTimeout(() => reject(last), silentAfterMs);
  signal.addEventListener('abort', onAbort, { once: true });
  socket.once('connect', resolve);
  socket.on('connect_error', (error: Error & { data?: Refusal }) => {
    last = error;
    if (error.data) reject(new CapacityError(error.data.code, error.data.message, error.data.fix));
  });
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}

function askTime(socket: Socket): Promise<{ monotonicUs: number; kernel: string }> {
  return socket.timeout(READING_TIMEOUT_MS).emitWithAck('time');
}

/** What is asked for while the connection is broken would be answered late, and by nobody who could wait for it. */
async function readConductor(socket: Socket): Promise<ClockReading> {
  if (!socket.connected) throw new Error('no connection');
  return readClock(() => askTime(socket));
}
