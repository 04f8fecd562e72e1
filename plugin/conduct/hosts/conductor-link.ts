/** A host's connection to the conductor: pinned, with the token, and back again after a break; and the conductor's clock. */
import { addAbortListener } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { io, type Socket } from 'socket.io-client';
import { ClockLine, ConvertingClock } from '../../../protocol/base/clock/clock-line.ts';
import { addReading, followClock, readClock } from '../../../protocol/base/clock/clock-reading.ts';
import { thisHost } from '../../../protocol/base/machine/this-host.ts';
import { within } from '../../../protocol/base/within.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { guardClient } from '../../../protocol/wire/guard-client.ts';
import {
  type AgentMessage,
  type Hello,
  type HubMessage,
  JOIN_TIMEOUT_MS,
  type Refusal,
  refusalSchema,
  type Time,
  timeSchema,
} from './host-messages.ts';
import { inUrl, type Join } from './join-line.ts';
import { CONNECT_TIMEOUT_MS, connectPinned, PinnedAgent } from './pinned-connection.ts';
import { Stream, type StreamOptions, type StreamSocket } from './stream.ts';

const RETRY_MS = 1000;
/** Before the load, several at once; then all the time. */
const FIRST_READINGS = 16;
const READING_INTERVAL_MS = 333;
const READING_TIMEOUT_MS = 2000;
const FLUSH_POLL_MS = 10;

interface LinkOptions extends StreamOptions<HubMessage> {
  join: Join;
  /** Tells the conductor who this is. */
  hello: Hello;
  /** The conductor has been away for `silentAfterMs`; or is back, and does not take this host any more. */
  onLost(refusal?: Refusal): void;
  silentAfterMs: number;
  signal: AbortSignal;
}

export type ConductorLink = Awaited<ReturnType<typeof openConductorLink>>;

/** @throws CapacityError CONDUCTOR_UNREACHABLE, BAD_TOKEN, or why the conductor refuses this host; the signal's reason */
export async function openConductorLink(options: LinkOptions) {
  const { join, hello, onLost, silentAfterMs, signal } = options;
  await untilReached(join, signal);
  let run: string | undefined;
  const socket = io(`https://${inUrl(join.host)}:${join.port}`, {
    auth: (give) => give({ hello, run }),
    extraHeaders: { authorization: `Bearer ${join.token}` },
    transports: ['websocket'],
    forceNew: true,
    timeout: CONNECT_TIMEOUT_MS,
    reconnectionDelay: 200,
    reconnectionDelayMax: 1000,
    agent: new PinnedAgent(join) as never,
  });
  guardClient(socket.io);
  // From the first moment on: the conductor may end the run while the clock is read.
  const stream = new Stream<AgentMessage, HubMessage>(options);
  stream.attach(socket as unknown as StreamSocket);
  const readings = async () => {
    await connected(socket, options);
    const first = await askTime(socket);
    run = first.run;
    const line = new ClockLine(first.kernel === thisHost().kernel);
    for (let reading = 0; reading < FIRST_READINGS; reading++) {
      await addReading(line, () => readClock(() => askTime(socket)));
    }
    signal.throwIfAborted();
    if (!Number.isFinite(line.boundUs)) throw new Error('its clock cannot be read');
    return line;
  };
  const clock = await readings().catch((error) => {
    socket.disconnect();
    signal.throwIfAborted();
    throw error instanceof CapacityError ? error : unreachable(join, error);
  });
  let silentTimer: NodeJS.Timeout | undefined;
  const awaitBack = () => {
    silentTimer = setTimeout(() => onLost(), silentAfterMs);
  };
  socket.on('connect', () => {
    clearTimeout(silentTimer);
    stream.resend();
  });
  socket.on('connect_error', (error) => {
    const refusal = refusalOf(error);
    if (refusal) onLost(refusal);
  });
  socket.on('disconnect', awaitBack);
  // While the clock was read.
  if (!socket.connected) awaitBack();
  const unfollow = followClock(clock, () => readClock(() => askTime(socket)), READING_INTERVAL_MS);
  return {
    /** The conductor's. */
    clock: new ConvertingClock(clock),

    send: (message: AgentMessage) => stream.send(message),

    /** Resolves when all that was sent has arrived, or after `timeoutMs`. */
    async flushed(timeoutMs: number): Promise<void> {
      const deadlineMs = performance.now() + timeoutMs;
      while (stream.pending > 0 && performance.now() < deadlineMs) await delay(FLUSH_POLL_MS);
    },

    /** Idempotent. */
    close(): void {
      unfollow();
      clearTimeout(silentTimer);
      socket.removeAllListeners();
      socket.disconnect();
    },
  };
}

/** Waits for a conductor that starts after its hosts. */
async function untilReached(join: Join, signal: AbortSignal): Promise<void> {
  const deadlineMs = performance.now() + JOIN_TIMEOUT_MS;
  for (;;) {
    signal.throwIfAborted();
    try {
      (await connectPinned(join)).destroy();
      return;
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
    undefined,
    { cause },
  );
}

/** A refusal ends the attempts; a connection that fails is tried again, until the conductor has been silent for too long. */
async function connected(socket: Socket, { silentAfterMs, signal }: LinkOptions): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<true>();
  let last = new Error('it does not answer');
  const aborted = addAbortListener(signal, () => reject(signal.reason));
  socket.once('connect', () => resolve(true));
  socket.on('connect_error', (error) => {
    last = causeOf(error);
    const refusal = refusalOf(error);
    if (refusal) reject(new CapacityError(refusal.code, refusal.message, refusal.fix));
  });
  try {
    if (!(await within(promise, silentAfterMs))) throw last;
  } finally {
    aborted[Symbol.dispose]();
  }
}

/** Returns the error of the connection itself, which socket.io-client calls `websocket error`. */
function causeOf(error: Error & { description?: unknown }): Error {
  const { error: cause } = (error.description ?? {}) as { error?: unknown };
  return cause instanceof Error ? cause : error;
}

/** Returns why another attempt is useless: the conductor does not take this host, or is another one; undefined if it may help. */
function refusalOf(error: Error & { data?: unknown }): Refusal | undefined {
  const refusal = refusalSchema.safeParse(error.data);
  if (refusal.success) return refusal.data;
  const cause = causeOf(error);
  if (cause instanceof CapacityError) return { code: cause.code, message: cause.message, fix: cause.fix };
  // Without the token there is no WebSocket, and HTTP's status is all that the conductor says.
  const { message } = cause;
  if (!/\b400\b/.test(message)) return undefined;
  const { message: wrong, fix } = new CapacityError('BAD_TOKEN', 'the token is not that of this run');
  return { code: 'BAD_TOKEN', message: wrong, fix };
}

/** What is asked for while the connection is broken would be answered late, and by nobody who could wait for it. */
async function askTime(socket: Socket): Promise<Time> {
  if (!socket.connected) throw new Error('no connection');
  return timeSchema.parse(await socket.timeout(READING_TIMEOUT_MS).emitWithAck('time'));
}
