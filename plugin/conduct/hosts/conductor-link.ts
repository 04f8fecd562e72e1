/**
 * A host's connection to the conductor. It checks the conductor's certificate, authenticates the host, reconnects, and
 * reads the conductor's clock.
 */
import { addAbortListener } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { io, type Socket } from 'socket.io-client';
import { addClockReading, followClock, readClock } from '../../../protocol/base/clock/clock.ts';
import { ClockLine, ConvertingClock } from '../../../protocol/base/clock/clock-line.ts';
import { thisHost } from '../../../protocol/base/machine/this-host.ts';
import { resultWithin } from '../../../protocol/base/within.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { guardClient } from '../../../protocol/wire/guard-client.ts';
import {
  type AgentMessage,
  type ConductorTime,
  conductorTimeSchema,
  type HostHello,
  type HostRefusalReason,
  type HubMessage,
  refusalSchema,
  reportIntervalMs,
} from './host-messages.ts';
import { hostInUrl, type JoinAddress } from './join-token.ts';
import {
  askUntilAnswered,
  CONDUCTOR_CONNECT_TIMEOUT_MS,
  conductorUnreachableError,
  connectPinned,
  PinnedAgent,
} from './pinned-connection.ts';
import { ReliableStream, type ReliableStreamOptions, type ReliableStreamSocket } from './stream.ts';

/** Number of clock readings before the load. Afterwards, the clock is read periodically. */
const FIRST_READINGS = 16;
const READING_INTERVAL_MS = 333;
const READING_TIMEOUT_MS = 2000;
const FLUSH_POLL_MS = 10;

interface LinkOptions extends ReliableStreamOptions<HubMessage> {
  join: JoinAddress;
  hello: HostHello;
  /**
   * Called when the conductor has been unreachable for `silentAfterMs`, or when it refuses this host after a reconnect.
   */
  onLost(refusal?: HostRefusalReason): void;
  silentAfterMs: number;
  signal: AbortSignal;
}

export type ConductorLink = Awaited<ReturnType<typeof openConductorLink>>;

/**
 * Connects to the conductor.
 * @throws CapacityError CONDUCTOR_UNREACHABLE, BAD_TOKEN or the conductor's refusal; the signal's reason
 */
export async function openConductorLink(options: LinkOptions) {
  const { join, hello, onLost, silentAfterMs, signal } = options;
  await askUntilAnswered(join, signal, async () => (await connectPinned(join)).destroy());
  let run: string | undefined;
  const socket = io(`https://${hostInUrl(join.host)}:${join.port}`, {
    auth: (callback) => callback({ hello, run }),
    extraHeaders: { authorization: `Bearer ${join.token}` },
    transports: ['websocket'],
    forceNew: true,
    timeout: CONDUCTOR_CONNECT_TIMEOUT_MS,
    reconnectionDelay: 200,
    reconnectionDelayMax: 1000,
    agent: new PinnedAgent(join) as never,
  });
  guardClient(socket.io);
  // Listens for the end of the run before the clock is read, because the conductor may end it meanwhile.
  const stream = new ReliableStream<AgentMessage, HubMessage>(options);
  stream.attach(socket as unknown as ReliableStreamSocket);
  const readFirstClock = async () => {
    await connected(socket, options);
    const first = await askTime(socket);
    run = first.run;
    const line = new ClockLine(first.kernel === thisHost().kernel);
    for (let reading = 0; reading < FIRST_READINGS; reading++) {
      await addClockReading(line, () => readClock(() => askTime(socket)));
    }
    signal.throwIfAborted();
    if (!Number.isFinite(line.boundUs)) throw new Error('its clock cannot be read');
    return line;
  };
  const clock = await readFirstClock().catch((error) => {
    socket.disconnect();
    signal.throwIfAborted();
    throw error instanceof CapacityError ? error : conductorUnreachableError(join, error);
  });
  let lostTimer: NodeJS.Timeout | undefined;
  const startLostTimer = () => {
    lostTimer = setTimeout(() => onLost(), silentAfterMs);
  };
  socket.on('connect', () => {
    clearTimeout(lostTimer);
    stream.resend();
  });
  socket.on('connect_error', (error) => {
    const refusal = refusalOf(error);
    if (refusal) onLost(refusal);
  });
  socket.on('disconnect', startLostTimer);
  // The connection may have closed while the clock was read.
  if (!socket.connected) startLostTimer();
  const unfollow = followClock(
    clock,
    () => readClock(() => askTime(socket)),
    reportIntervalMs(READING_INTERVAL_MS, hello.hosts),
  );
  return {
    /** The conductor's clock, relative to this host's clock. */
    clock: new ConvertingClock(clock),

    send: (message: AgentMessage) => stream.send(message),

    /** Resolves when the conductor has acknowledged every message that this host sent, or after `timeoutMs`. */
    async flushed(timeoutMs: number): Promise<void> {
      const deadlineMs = performance.now() + timeoutMs;
      while (stream.pending > 0 && performance.now() < deadlineMs) await delay(FLUSH_POLL_MS);
    },

    /** Closes the connection to the conductor. Idempotent. */
    close(): void {
      unfollow();
      clearTimeout(lostTimer);
      socket.removeAllListeners();
      socket.disconnect();
    },
  };
}

/**
 * Waits for the connection to the conductor. Failed attempts are repeated for `silentAfterMs`; a refusal rejects at
 * once.
 */
async function connected(socket: Socket, { silentAfterMs, signal }: LinkOptions): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<true>();
  let lastError = new Error('it does not answer');
  const aborted = addAbortListener(signal, () => reject(signal.reason));
  socket.once('connect', () => resolve(true));
  socket.on('connect_error', (error) => {
    lastError = causeOf(error);
    const refusal = refusalOf(error);
    if (refusal) reject(new CapacityError(refusal.code, refusal.message, refusal.fix));
  });
  try {
    if (!(await resultWithin(promise, silentAfterMs))) throw lastError;
  } finally {
    aborted[Symbol.dispose]();
  }
}

/** Returns the underlying error. socket.io-client wraps it in an error with the message `websocket error`. */
function causeOf(error: Error & { description?: unknown }): Error {
  const { error: cause } = (error.description ?? {}) as { error?: unknown };
  return cause instanceof Error ? cause : error;
}

/**
 * Returns why further attempts are useless: the conductor refuses this host, or another program answers at its address.
 * Undefined if a further attempt may succeed.
 */
function refusalOf(error: Error & { data?: unknown }): HostRefusalReason | undefined {
  const refusal = refusalSchema.safeParse(error.data);
  if (refusal.success) return refusal.data;
  const cause = causeOf(error);
  if (cause instanceof CapacityError) return { code: cause.code, message: cause.message, fix: cause.fix };
  // The conductor refuses a wrong token before the WebSocket opens. HTTP status 400 is the only sign of the refusal.
  if (!/\b400\b/.test(cause.message)) return undefined;
  const { message, fix } = new CapacityError('BAD_TOKEN', 'the token is not that of this run');
  return { code: 'BAD_TOKEN', message, fix };
}

/**
 * Reads the conductor's clock. Throws while the connection is closed, because Socket.IO would buffer the request, and
 * the reading would be late.
 */
async function askTime(socket: Socket): Promise<ConductorTime> {
  if (!socket.connected) throw new Error('no connection');
  return conductorTimeSchema.parse(await socket.timeout(READING_TIMEOUT_MS).emitWithAck('time'));
}
