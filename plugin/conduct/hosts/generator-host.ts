/**
 * The agent on a generator host. It forwards messages between the host's engines and the conductor, and reports the
 * load of the machine. It also converts times between the host's clock and the conductor's clock.
 */
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { convertInstants } from '../../../protocol/base/clock/instants.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import type { MessageCarrier } from '../../../protocol/link/carrier.ts';
import {
  ENGINE_STATUS_INTERVAL_MS,
  type EngineMessage,
  type RunMessage,
} from '../../../protocol/link/link-messages.ts';
import { LAYERS, MachineWatch, Sampler } from '../../samplers/index.ts';
import { toCapacityError } from '../incomplete.ts';
import { type ConductorLink, openConductorLink } from './conductor-link.ts';
import {
  type HostHello,
  type HostRefusalReason,
  type HubMessage,
  hubMessageSchema,
  MAX_HOST_SILENCE_MS,
  reportIntervalMs,
} from './host-messages.ts';
import type { HostTotals } from './host-totals.ts';
import type { JoinAddress } from './join-token.ts';

const ROW_INTERVAL_MS = 1000;
/** Time limit, in milliseconds, for telling the conductor that the user stopped this host. */
const STOP_TIMEOUT_MS = 5000;

interface AgentOptions {
  join: JoinAddress;
  hello: HostHello;
  /** Connection to the engines of this host. The agent closes it. */
  carrier: MessageCarrier<RunMessage, EngineMessage>;
  /**
   * Checks that this host can generate its share of the load.
   * @throws CapacityError if it cannot
   */
  admit(): Promise<void>;
  /** Called when the conductor ends the run on this host, or when the conductor is lost. */
  onEnd(exitCode: number | undefined, why: CapacityError | string): void;
  /** Time after which an unreachable conductor counts as lost. */
  silentAfterMs?: number;
}

export class HostAgent {
  readonly #options: AgentOptions;
  readonly #abort = new AbortController();
  /** Messages from engines that were ready before the connection to the conductor was open. */
  readonly #earlyMessages: EngineMessage[] = [];
  readonly #machine = new MachineWatch(async () => [process.pid]);
  readonly #sampler: Sampler;
  readonly #silentAfterMs: number;
  readonly #statusIntervalMs: number;
  /** Latest status of each engine that the conductor has not got yet. */
  readonly #pendingStatuses = new Map<string, EngineMessage>();
  #statusesSentMs = 0;
  #link: ConductorLink | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Number of arrivals that Artillery has skipped so far. */
  skippedUsers = 0;
  /** Artillery's own metrics on this host. Set when Artillery has ended. */
  totals: HostTotals | undefined;

  constructor(options: AgentOptions) {
    this.#options = options;
    this.#silentAfterMs = options.silentAfterMs ?? MAX_HOST_SILENCE_MS;
    // 0 if every report is sent.
    this.#statusIntervalMs =
      reportIntervalMs(ENGINE_STATUS_INTERVAL_MS, options.hello.hosts) - ENGINE_STATUS_INTERVAL_MS;
    options.carrier.onMessage = (message) => this.#fromEngine(message);
    this.#sampler = new Sampler({
      pids: () => ({}),
      connections: () => 0,
      machine: this.#machine,
      layers: LAYERS.filter(({ id }) => id === 'system'),
    });
  }

  /**
   * Joins the run, and reports this host as ready after `admit` has passed.
   * @throws CapacityError if the conductor refuses the host, or if `admit` fails
   */
  async join(): Promise<void> {
    const { join, hello, onEnd, admit } = this.#options;
    const link: ConductorLink = await openConductorLink({
      ...{ join, hello, silentAfterMs: this.#silentAfterMs },
      schema: hubMessageSchema,
      onMessage: (message) => this.#fromConductor(message),
      onMalformed: () => {},
      onLost: (refusal) => onEnd(undefined, conductorLost(join, this.#silentAfterMs, refusal)),
      signal: this.#abort.signal,
    });
    if (this.#abort.signal.aborted) return link.close();
    this.#link = link;
    this.#sampler.start();
    this.#timer = setInterval(() => this.#sendRow(link), reportIntervalMs(ROW_INTERVAL_MS, this.#options.hello.hosts));
    for (const message of this.#earlyMessages.splice(0)) this.#fromEngine(message);
    try {
      await admit();
    } catch (error) {
      const { code, message, fix } = toCapacityError(error);
      link.send({ type: 'refused', code, message, fix });
      throw error;
    }
    link.send({ type: 'ready' });
  }

  phase(index: number, stage: 'started' | 'completed'): void {
    this.#link?.send({ type: 'phase', index, stage });
  }

  /**
   * Announces to the conductor that Artillery is about to end, so that the run does not wait for this host. Resolves
   * when the conductor has acknowledged the message, or after the timeout.
   */
  async bye(stopped: boolean): Promise<void> {
    if (!this.#link) return;
    this.#sendRow(this.#link);
    this.#sendStatuses(this.#link);
    this.#link.send({ type: 'bye', stopped, skippedUsers: this.skippedUsers, totals: this.totals });
    await this.#link.flushed(stopped ? STOP_TIMEOUT_MS : this.#silentAfterMs);
  }

  /** Closes the agent. Idempotent. */
  async close(): Promise<void> {
    this.#abort.abort();
    clearInterval(this.#timer);
    this.#link?.close();
    // Closes the engines' connections, because a conductor that was lost has not closed them.
    this.#options.carrier.send({ type: 'close', requestId: 0 });
    this.#options.carrier.close();
    await this.#sampler.close();
  }

  #fromEngine(message: EngineMessage): void {
    const link = this.#link;
    if (!link) this.#earlyMessages.push(message);
    else if (message.type === 'status') {
      this.#pendingStatuses.set(message.from.engine, message);
      if (performance.now() - this.#statusesSentMs >= this.#statusIntervalMs) this.#sendStatuses(link);
    } else {
      this.#sendStatuses(link);
      this.#send(link, message);
    }
  }

  #send(link: ConductorLink, message: EngineMessage): void {
    link.send({ type: 'engine', message: convertInstants(message, (atUs) => link.clock.toTheirs(atUs)) });
  }

  #sendStatuses(link: ConductorLink): void {
    if (this.#pendingStatuses.size > 0) this.#statusesSentMs = performance.now();
    for (const message of this.#pendingStatuses.values()) this.#send(link, message);
    this.#pendingStatuses.clear();
  }

  #fromConductor(message: HubMessage): void {
    const link = this.#link;
    if (message.type === 'end') this.#options.onEnd(message.exitCode, message.why);
    else if (link) this.#options.carrier.send(convertInstants(message.message, (atUs) => link.clock.toOurs(atUs)));
  }

  #sendRow(link: ConductorLink): void {
    const busyPercent = this.#sampler.samples.at(-1)?.system?.cpuPercent;
    const { offsetUs, boundUs } = link.clock;
    link.send({
      type: 'machine',
      row: {
        // The error of the clock does not matter here, because whole seconds are precise enough for this time.
        atUs: monotonicUs() + offsetUs,
        cpuIdlePercent: busyPercent === undefined ? null : Math.max(0, 100 - busyPercent),
        shares: this.#machine.takeShares(),
        clock: { offsetUs, boundUs },
        skippedUsers: this.skippedUsers,
      },
    });
  }
}

function conductorLost(
  { host, port }: JoinAddress,
  afterMs: number,
  refusal: HostRefusalReason | undefined,
): CapacityError {
  const what = refusal ? `goes on without this host (${refusal.message})` : `has not answered for ${afterMs / 1000} s`;
  return new CapacityError(
    'CONDUCTOR_UNREACHABLE',
    `the conductor at ${host}:${port} ${what}: this host closes its connections and ends`,
    'see the output of the conductor; it also has the result of the run, if there is one',
  );
}
