/** A host's connection to the conductor: pinned, with the token, and back again after a break; and the conductor's clock. */
import { addAbortListener, once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from 'node:tls';
import { io, type Socket } from 'socket.io-client';
import { ClockLine } from '../../../protocol/clock/clock-line.ts';
import { addReading, followClock, readClock } from '../../../protocol/clock/clock-reading.ts';
import { ConvertingClock } from '../../../protocol/clock/converting-clock.ts';
import { CapacityError } from '../../../protocol/errors.ts';
import { guardClient } from '../../../protocol/guard-client.ts';
import { within } from '../../../protocol/helpers/within.ts';
import { thisHost } from '../../../protocol/machine/host.ts';
import { fingerprintOf, inUrl, type Join } from './join-line.ts';
import {
  type AgentMessage,
  type Hello,
  type HubMessage,
  JOIN_TIMEOUT_MS,
  type Refusal,
  refusalSchema,
  type Time,
  timeSchema,
} from './messages.ts';
import { Stream, type StreamOptions, type StreamSocket } from './stream.ts';

const CONNECT_TIMEOUT_MS = 5000;
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
  const ca = await untilReached(join, signal);
  let run: string | undefined;
  const socket = io(`https://${inUrl(join.host)}:${join.port}`, {
    auth: (give) => give({ hello, run }),
    extraHeaders: { authorization: `Bearer ${join.token}` },
    transports: ['websocket'],
    forceNew: true,
    timeout: CONNECT_TIMEOUT_MS,
    reconnectionDelay: 200,
    reconnectionDelayMax: 1000,
    ca,
    // The certificate is its own authority, whatever name the conductor is reached by.
    ...{ checkServerIdentity: () => undefined },
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

/** Hosts may come up before the conductor. @returns its certificate */
async function untilReached(join: Join, signal: AbortSignal): Promise<string> {
  const deadlineMs = performance.now() + JOIN_TIMEOUT_MS;
  for (;;) {
    signal.throwIfAborted();
    try {
      return await pinnedCertificate(join);
    } catch (cause) {
      if (cause instanceof CapacityError) throw cause;
      if (performance.now() > deadlineMs) throw unreachable(join, cause);
      await delay(RETRY_MS, undefined, { signal });
    }
  }
}

/**
 * Makes sure that whoever listens has the certificate of the join line, before the token is sent.
 * @returns the certificate as PEM, the only authority that connections to this conductor are to trust
 * @throws CapacityError BAD_TOKEN if it is another one; Error if nobody answers
 */
async function pinnedCertificate({ host, port, fingerprint }: Join): Promise<string> {
  const socket = connect({ host, port, rejectUnauthorized: false });
  const late = new Error(`no answer within ${CONNECT_TIMEOUT_MS / 1000} s`);
  const timer = setTimeout(() => socket.destroy(late), CONNECT_TIMEOUT_MS);
  try {
    await once(socket, 'secureConnect');
    const certificate = socket.getPeerX509Certificate();
    if (certificate && fingerprintOf(certificate.raw) === fingerprint) return certificate.toString();
    throw new CapacityError(
      'BAD_TOKEN',
      `${host}:${port} has another certificate than the one in CAPACITY_CONDUCTOR`,
      'set CAPACITY_CONDUCTOR to the line that this run’s conductor has printed; does something between the hosts break TLS open?',
    );
  } finally {
    clearTimeout(timer);
    socket.destroy();
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
    last = error;
    const refusal = refusalOf(error);
    if (refusal) reject(new CapacityError(refusal.code, refusal.message, refusal.fix));
  });
  try {
    if (!(await within(promise, silentAfterMs))) throw last;
  } finally {
    aborted[Symbol.dispose]();
  }
}

/** @returns why the conductor does not take this host; undefined if it could not be asked */
function refusalOf({ data, description }: Error & { data?: unknown; description?: unknown }): Refusal | undefined {
  const refusal = refusalSchema.safeParse(data);
  if (refusal.success) return refusal.data;
  // Without the token there is no WebSocket, and HTTP's status is all that the conductor says.
  const { message = '' } = (description ?? {}) as { message?: string };
  if (!/\b400\b/.test(message)) return undefined;
  const { message: wrong, fix } = new CapacityError('BAD_TOKEN', 'the token is not that of this run');
  return { code: 'BAD_TOKEN', message: wrong, fix };
}

/** What is asked for while the connection is broken would be answered late, and by nobody who could wait for it. */
async function askTime(socket: Socket): Promise<Time> {
  if (!socket.connected) throw new Error('no connection');
  return timeSchema.parse(await socket.timeout(READING_TIMEOUT_MS).emitWithAck('time'));
}
