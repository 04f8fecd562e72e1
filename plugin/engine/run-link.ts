/** The engine's side of the link to the run in the main thread. */
import { mapLimit } from '../../protocol/base/map-limit.ts';
import type { ErrorCode } from '../../protocol/codes/error-codes.ts';
import type { MessageCarrier } from '../../protocol/link/carrier.ts';
import { NO_MESSAGE_COUNTS } from '../../protocol/link/client-messages.ts';
import {
  ENGINE_STATUS_INTERVAL_MS,
  type EngineIdentity,
  type EngineMessage,
  type EngineReport,
  type RunMessage,
  type WarmUpRequest,
} from '../../protocol/link/link-messages.ts';
import type { FleetSnapshot } from '../../protocol/link/snapshot.ts';
import { CONTRACT_EVENTS, type JoinRoomMessage } from '../../protocol/wire/events.ts';
import { ConnectionAccounts } from '../fleet/connection-accounts.ts';
import { EventLoopWatch, TimerLag } from '../fleet/event-loop-watch.ts';
import type { Fleet } from '../fleet/fleet.ts';
import { mergeSnapshots } from '../fleet/merge.ts';
import type { FleetConnection } from '../fleet/remote-connection.ts';
import { toFlowError } from '../virtual-user/flow-error.ts';
import type { RunSignals } from '../virtual-user/signals.ts';
import { newUserTally, type UserTally } from '../virtual-user/tally.ts';

const JOIN_TIMEOUT_MS = 10_000;
const NO_FLEET = { ...mergeSnapshots([]), ...new ConnectionAccounts().read(), still: true };

/** Interface of a fleet that the engine uses. */
export type FleetLike = Omit<Fleet, 'connection'> & { connection(): FleetConnection };

/** Fleet and counts of the engine, which the run asks for. */
interface Reported {
  fleet: FleetLike;
  tally: UserTally;
}

interface RunLinkOptions {
  carrier: MessageCarrier<EngineMessage, RunMessage>;
  identity: EngineIdentity;
  signals: RunSignals;
  /** Closes everything that the engine has opened. */
  close: () => Promise<void>;
}

export class RunLink {
  readonly #options: RunLinkOptions;
  readonly #eventLoop = new EventLoopWatch();
  readonly #lag = new TimerLag(ENGINE_STATUS_INTERVAL_MS);
  #reported: Reported | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** Takes ownership of the carrier, which is the channel to the run. */
  constructor(options: RunLinkOptions) {
    this.#options = options;
    options.carrier.onMessage = (message) => {
      // The carrier also delivers answers from other engines. The type of an answer can equal the type of a request.
      if (!('from' in message)) void this.#receive(message);
    };
  }

  /**
   * Reports that the fleet has started. The run sends `start` when all engines have reported.
   * @param engines number of engines on this host
   */
  ready(reported: Reported | undefined, engines: number): void {
    this.#reported = reported;
    this.#send({ type: 'ready', engines });
    if (reported) this.#timer = setInterval(() => this.#sendStatus(reported), ENGINE_STATUS_INTERVAL_MS).unref();
  }

  began(beganAtUs: number): void {
    this.#send({ type: 'began', beganAtUs });
  }

  failed(code: ErrorCode, message: string, fix: string): void {
    this.#send({ type: 'failed', code, message, fix });
  }

  close(): void {
    clearInterval(this.#timer);
    this.#eventLoop.close();
    this.#options.carrier.close();
  }

  async #receive(message: RunMessage): Promise<void> {
    const { signals } = this.#options;
    if (message.type === 'start') return signals.start.resolve(message.atUs);
    if (message.type === 'release') return signals.release.resolve();
    if (message.type === 'finish') return signals.finish.resolve();
    this.#send(await this.#answer(message));
    if (message.type === 'close') this.close();
  }

  async #answer(message: Extract<RunMessage, { requestId: number }>): Promise<EngineReport> {
    const { requestId } = message;
    const { fleet } = this.#reported ?? {};
    switch (message.type) {
      case 'warm-up':
        return { type: 'warmed', requestId, failure: fleet && (await warmUp(fleet, message.order)) };
      case 'snapshot':
        return { type: 'snapshot', requestId, snapshot: await snapshotOf(this.#reported, this.#eventLoop) };
      case 'freeze':
        return { type: 'frozen', requestId, rows: (await fleet?.freeze(message.broadcasts)) ?? [] };
      case 'sight':
        return { type: 'sighted', requestId, sightings: (await fleet?.sight(message.watch, message.outside)) ?? [] };
      case 'messages':
        return { type: 'messages', requestId, counts: (await fleet?.messages(message.stage)) ?? NO_MESSAGE_COUNTS };
      case 'events':
        return { type: 'events', requestId, events: (await fleet?.events()) ?? [] };
      case 'fault':
        await fleet?.fault(message.order);
        return { type: 'faulted', requestId };
      case 'close':
        await this.#options.close();
        return { type: 'closed', requestId };
    }
  }

  #sendStatus({ fleet, tally }: Reported): void {
    const { started, holding, failed, failures, otherUsers } = tally;
    const fleetStatus = fleet.status();
    const loopLateMs = Math.max(fleetStatus.loopLateMs, this.#lag.tick());
    const others = otherUsers.started;
    const status = { ...fleetStatus, loopLateMs, started, others, holding, failed, failures };
    this.#send({ type: 'status', status });
  }

  /** Sends a report. Has no effect after the carrier has closed, for example if a warm-up outlasts the run. */
  #send(report: EngineReport): void {
    this.#options.carrier.send({ from: this.#options.identity, ...report });
  }
}

async function snapshotOf(reported: Reported | undefined, eventLoop: EventLoopWatch): Promise<FleetSnapshot> {
  const merged = reported ? await reported.fleet.snapshot() : NO_FLEET;
  const { retries, failures, examples, otherUsers, http, functions } = reported?.tally ?? newUserTally();
  const failed = { failures: { ...failures }, failureExamples: { ...examples } };
  const counted = {
    retries: retries + merged.returns.retries,
    ...failed,
    ...structuredClone({ otherUsers, http, functions }),
  };
  return { ...merged, engineLoop: eventLoop.read(), ...counted };
}

/**
 * Opens short-lived connections before the measurement, lets them join and closes them, so that V8 compiles the code of
 * engine and fleet. Then resets the fleet's counts.
 * @returns the first failure; undefined without failures
 */
async function warmUp(
  fleet: Pick<FleetLike, 'connection' | 'reset'>,
  order: WarmUpRequest,
): Promise<string | undefined> {
  const { connections, together, room } = order;
  const failure = await mapLimit(connections, together, () => openAndClose(fleet, room)).then(
    () => undefined,
    (error) => toFlowError(error),
  );
  await fleet.reset();
  return failure && `${failure.code}: ${failure.message}`;
}

async function openAndClose(fleet: Pick<FleetLike, 'connection'>, clientKey: string | undefined): Promise<void> {
  const connection = fleet.connection();
  const opened = connection.open('/');
  const joined = clientKey === undefined ? undefined : join(connection, { clientKey });
  joined?.catch(() => {}); // If the connection fails, the promise `opened` reports the reason.
  try {
    await opened;
    await joined;
  } finally {
    await connection.close();
  }
}

function join(connection: FleetConnection, payload: JoinRoomMessage): Promise<unknown> {
  return connection.emitWithAck('/', CONTRACT_EVENTS.joinRoom, [payload], JOIN_TIMEOUT_MS);
}
