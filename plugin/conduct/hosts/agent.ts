/**
 * A generator host of a run that is conducted elsewhere: relays between the engines here and the conductor, and tells how the
 * machine is. Points in time are converted here, and only here.
 */

import { monotonicUs } from '../../../protocol/clock/clock.ts';
import { withInstants } from '../../../protocol/clock/instants.ts';
import { CapacityError } from '../../../protocol/errors.ts';
import type { Carrier } from '../../../protocol/link/carrier.ts';
import type { EngineMessage, RunMessage } from '../../../protocol/link/messages.ts';
import { LAYERS, type LayerSample, type SampleRow, Sampler } from '../../samplers/index.ts';
import { ConductorLink } from './conductor-link.ts';
import type { Join } from './join-line.ts';
import {
  AGENT_NAMESPACE,
  type AgentMessage,
  type Hello,
  type HubMessage,
  type Refusal,
  SILENT_AFTER_MS,
} from './messages.ts';

/** The conductor may be started after its hosts. */
const START_TIMEOUT_MS = 120_000;
const ROW_INTERVAL_MS = 1000;
/** For the conductor to learn that somebody has stopped this host. */
const STOP_TIMEOUT_MS = 5000;

interface AgentOptions {
  join: Join;
  hello: Hello;
  /** To the engines here; the agent closes it. */
  carrier: Carrier<RunMessage, EngineMessage>;
  /** Whether this host can bring its share. @throws CapacityError if it cannot */
  admit(): Promise<void>;
  /** The conductor wants Artillery to end here, or has gone. */
  onEnd(exitCode: number | undefined, why: CapacityError | string): void;
  /** How long the conductor may be away. */
  silentAfterMs?: number;
}

export class Agent {
  readonly #options: AgentOptions;
  readonly #abort = new AbortController();
  readonly #fleetPids = new Map<string, number[]>();
  /** From engines that were ready before the conductor. */
  readonly #early: EngineMessage[] = [];
  readonly #sampler: Sampler;
  #link: ConductorLink<AgentMessage, HubMessage> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Arrivals that Artillery has not started so far. */
  skippedUsers = 0;

  constructor(options: AgentOptions) {
    this.#options = options;
    options.carrier.onMessage = (message) => this.#fromEngine(message);
    this.#sampler = new Sampler({
      pids: () => ({ fleet: [...this.#fleetPids.values()].flat(), artillery: [process.pid] }),
      connections: () => 0,
      layers: LAYERS.filter(({ id }) => ['fleet', 'artillery', 'system'].includes(id)),
    });
  }

  /** Resolves when the conductor has taken this host. @throws CapacityError why it has not */
  async join(): Promise<void> {
    const { join, hello, silentAfterMs = SILENT_AFTER_MS } = this.#options;
    const link = await ConductorLink.open<AgentMessage, HubMessage>({
      ...{ join, hello, silentAfterMs },
      namespace: AGENT_NAMESPACE,
      onMessage: (message) => this.#fromConductor(message),
      onLost: (refusal) => this.#options.onEnd(undefined, conductorLost(join, silentAfterMs, refusal)),
      startTimeoutMs: START_TIMEOUT_MS,
      signal: this.#abort.signal,
    });
    this.#link = link;
    this.#sampler.start();
    this.#timer = setInterval(() => this.#sendRow(link), ROW_INTERVAL_MS);
    for (const message of this.#early.splice(0)) this.#fromEngine(message);
    try {
      await this.#options.admit();
    } catch (error) {
      const { code, message, fix } = error as CapacityError;
      this.#send({ type: 'refused', code, message, fix });
      throw error;
    }
    this.#send({ type: 'fits' });
  }

  phase(index: number, stage: 'started' | 'completed'): void {
    this.#send({ type: 'phase', index, stage });
  }

  /** Artillery is about to end. Resolves when the conductor knows, or has been away for too long: its run would wait for this host. */
  async bye(stopped: boolean): Promise<void> {
    if (!this.#link) return;
    this.#sendRow(this.#link);
    this.#send({ type: 'bye', stopped, skippedUsers: this.skippedUsers });
    await this.#link.flushed(stopped ? STOP_TIMEOUT_MS : (this.#options.silentAfterMs ?? SILENT_AFTER_MS));
  }

  /** Idempotent. */
  async close(): Promise<void> {
    this.#abort.abort();
    clearInterval(this.#timer);
    this.#link?.close();
    // Also where nobody else can tell the engines: the conductor has gone.
    this.#options.carrier.send({ type: 'close', requestId: 0 });
    this.#options.carrier.close();
    await this.#sampler.close();
  }

  #fromEngine(message: EngineMessage): void {
    // The fleet's processes are known from their snapshots, the first of which comes before the load.
    if (message.type === 'snapshot') {
      const { processes } = message.snapshot;
      this.#fleetPids.set(
        message.from.engine,
        processes.filter(({ alive }) => alive).map(({ pid }) => pid),
      );
    }
    if (this.#link) this.#send({ type: 'engine', message });
    else this.#early.push(message);
  }

  #fromConductor(message: HubMessage): void {
    if (message.type === 'end') this.#options.onEnd(message.exitCode, message.why);
    else this.#options.carrier.send(withInstants(message.message, (atUs) => this.#clock.toOurs(atUs)));
  }

  #send(message: AgentMessage): void {
    this.#link?.send(withInstants(message, (atUs) => this.#clock.toTheirs(atUs)));
  }

  get #clock() {
    return (this.#link as ConductorLink<AgentMessage, HubMessage>).clock;
  }

  #sendRow(link: ConductorLink<AgentMessage, HubMessage>): void {
    const last: Partial<SampleRow> = this.#sampler.samples.at(-1) ?? {};
    const { fleet, artillery, system } = last as Record<string, LayerSample | undefined>;
    const { boundUs } = link.clock;
    const busyPercent = system?.cpuPercent;
    this.#send({
      type: 'machine',
      row: {
        atUs: monotonicUs(),
        cpuIdlePercent: busyPercent === undefined ? null : Math.max(0, 100 - busyPercent),
        memoryUsedBytes: system?.usedBytes ?? null,
        fleet: { rssBytes: fleet?.rssBytes ?? 0, cpuPercent: fleet?.cpuPercent ?? 0 },
        artillery: { rssBytes: artillery?.rssBytes ?? 0, cpuPercent: artillery?.cpuPercent ?? 0 },
        clock: { offsetUs: link.clock.offsetAt(Number.POSITIVE_INFINITY), boundUs },
        skippedUsers: this.skippedUsers,
      },
    });
  }
}

function conductorLost({ host, port }: Join, afterMs: number, refusal: Refusal | undefined): CapacityError {
  const what = refusal ? `goes on without this host (${refusal.message})` : `has not answered for ${afterMs / 1000} s`;
  return new CapacityError(
    'CONDUCTOR_LOST',
    `the conductor at ${host}:${port} ${what}: this host ends, so that no connection is left behind`,
    'see its output; the result of the run, if there is one, is there',
  );
}
