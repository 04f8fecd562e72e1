/**
 * A generator host of a run that is conducted elsewhere: relays between the engines here and the conductor, and tells how the
 * machine is. Points in time are converted here, and only here.
 */
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { withInstants } from '../../../protocol/base/clock/instants.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import type { Carrier } from '../../../protocol/link/carrier.ts';
import type { EngineMessage, RunMessage } from '../../../protocol/link/link-messages.ts';
import { LAYERS, MachineWatch, Sampler } from '../../samplers/index.ts';
import { withCode } from '../incomplete.ts';
import { type ConductorLink, openConductorLink } from './conductor-link.ts';
import { type Hello, type HubMessage, hubMessageSchema, type Refusal, SILENT_AFTER_MS } from './host-messages.ts';
import type { HostTotals } from './host-totals.ts';
import type { Join } from './join-line.ts';

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
  /** From engines that were ready before the conductor. */
  readonly #early: EngineMessage[] = [];
  readonly #machine = new MachineWatch(async () => [process.pid]);
  readonly #sampler: Sampler;
  readonly #silentAfterMs: number;
  #link: ConductorLink | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Arrivals that Artillery has not started so far. */
  skippedUsers = 0;
  /** Artillery's own metrics, once it is done. */
  totals: HostTotals | undefined;

  constructor(options: AgentOptions) {
    this.#options = options;
    this.#silentAfterMs = options.silentAfterMs ?? SILENT_AFTER_MS;
    options.carrier.onMessage = (message) => this.#fromEngine(message);
    this.#sampler = new Sampler({
      pids: () => ({}),
      connections: () => 0,
      machine: this.#machine,
      layers: LAYERS.filter(({ id }) => id === 'system'),
    });
  }

  /** Resolves when the conductor has taken this host. @throws CapacityError why it has not */
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
    this.#timer = setInterval(() => this.#sendRow(link), ROW_INTERVAL_MS);
    for (const message of this.#early.splice(0)) this.#fromEngine(message);
    try {
      await admit();
    } catch (error) {
      const { code, message, fix } = withCode(error);
      link.send({ type: 'refused', code, message, fix });
      throw error;
    }
    link.send({ type: 'fits' });
  }

  phase(index: number, stage: 'started' | 'completed'): void {
    this.#link?.send({ type: 'phase', index, stage });
  }

  /** Artillery is about to end. Resolves when the conductor knows, or has been away for too long: its run would wait for this host. */
  async bye(stopped: boolean): Promise<void> {
    if (!this.#link) return;
    this.#sendRow(this.#link);
    this.#link.send({ type: 'bye', stopped, skippedUsers: this.skippedUsers, totals: this.totals });
    await this.#link.flushed(stopped ? STOP_TIMEOUT_MS : this.#silentAfterMs);
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
    const link = this.#link;
    if (!link) this.#early.push(message);
    else link.send({ type: 'engine', message: withInstants(message, (atUs) => link.clock.toTheirs(atUs)) });
  }

  #fromConductor(message: HubMessage): void {
    const link = this.#link;
    if (message.type === 'end') this.#options.onEnd(message.exitCode, message.why);
    else if (link) this.#options.carrier.send(withInstants(message.message, (atUs) => link.clock.toOurs(atUs)));
  }

  #sendRow(link: ConductorLink): void {
    const busyPercent = this.#sampler.samples.at(-1)?.system?.cpuPercent;
    const { offsetUs, boundUs } = link.clock;
    link.send({
      type: 'machine',
      row: {
        // To the second: how well it is known does not matter.
        atUs: monotonicUs() + offsetUs,
        cpuIdlePercent: busyPercent === undefined ? null : Math.max(0, 100 - busyPercent),
        shares: this.#machine.takeShares(),
        clock: { offsetUs, boundUs },
        skippedUsers: this.skippedUsers,
      },
    });
  }
}

function conductorLost({ host, port }: Join, afterMs: number, refusal: Refusal | undefined): CapacityError {
  const what = refusal ? `goes on without this host (${refusal.message})` : `has not answered for ${afterMs / 1000} s`;
  return new CapacityError(
    'CONDUCTOR_UNREACHABLE',
    `the conductor at ${host}:${port} ${what}: this host ends, so that no connection is left behind`,
    'see its output; the result of the run, if there is one, is there',
  );
}
