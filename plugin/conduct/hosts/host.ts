/** One generator host, as the conductor sees it: its reports and its engines. Stand-ins answer for the engines once it is lost. */
import type { Socket } from 'socket.io';
import { getOrAdd } from '../../../protocol/base/get-or-add.ts';
import type { EngineMessage, RunMessage } from '../../../protocol/link/link-messages.ts';
import { OWN_DISCONNECT } from '../../../protocol/wire/connection.ts';
import type { GeneratorHost } from '../../run/measurements/generator-measured.ts';
import type { AgentMessage, Hello, HubMessage, MachineRow } from './host-messages.ts';
import type { HostTotals } from './host-totals.ts';
import { MachineWindows } from './machine-windows.ts';
import { StandIn } from './stand-in.ts';
import type { Stream } from './stream.ts';

const AGENT_LOST = 'agent lost';
/** Far above what hosts need: Artillery starts one engine for each core. */
const MAX_ENGINES = 10_000;

export class Host {
  /** Unique name in the run: the host name, with the host's index if it has one. */
  readonly name: string;
  readonly hello: Hello;
  readonly stream: Stream<HubMessage, AgentMessage>;
  /** The latest connection. */
  socket: Socket | undefined;
  /** Earliest start of a first phase among its engines, on the conductor's clock. */
  beganAtUs: number | undefined;
  /** Why the run gave up the host; undefined if it did not. */
  lostReason: string | undefined;
  clock: MachineRow['clock'] | undefined;
  readonly windows = new MachineWindows();
  /** True once the host's doctor has passed it for its share. */
  isReady = false;
  /** True once Artillery has ended there, or the host is lost. */
  hasLeft = false;
  hasSaidGoodbye = false;
  /** Highest completed phase. */
  completedPhase = -1;
  skippedUsers = 0;
  /** Artillery's own metrics of this host; set when it has ended. */
  totals: HostTotals | undefined;
  hasSentInvalidMessage = false;
  readonly #engines = new Map<string, StandIn>();
  #lostTimer: NodeJS.Timeout | undefined;

  constructor(name: string, hello: Hello, stream: Stream<HubMessage, AgentMessage>) {
    this.name = name;
    this.hello = hello;
    this.stream = stream;
  }

  get measured(): GeneratorHost {
    const { name, hello, beganAtUs, lostReason: lost, clock } = this;
    const { cpuIdlePercent, shares } = this.windows;
    const { cores, memoryLimitBytes, machine, kernel } = hello;
    const own = { cores, memoryLimitBytes, machine, kernel };
    return { host: name, ...own, beganAtUs, lost, clock, arrivals: this.#arrivals, cpuIdlePercent, shares };
  }

  get #arrivals(): number {
    return this.hello.arrivals.reduce((sum, count) => sum + count, 0);
  }

  /** True while the host is disconnected, and the run waits for it to reconnect. */
  get isAwaited(): boolean {
    return this.#lostTimer !== undefined;
  }

  startLostTimer(afterMs: number, onLost: () => void): void {
    this.#lostTimer = setTimeout(onLost, afterMs);
  }

  stopLostTimer(): void {
    clearTimeout(this.#lostTimer);
    this.#lostTimer = undefined;
  }

  /**
   * Replaces the host's id in an engine's message: the engine identifies its host by the kernel, which several hosts of a run may
   * share.
   * @returns the message with the host's name in this run; undefined if the host has too many engines
   */
  withHostName({ from, ...report }: EngineMessage): EngineMessage | undefined {
    const named = { host: this.name, engine: from.engine };
    if (this.#engines.size >= MAX_ENGINES && !this.#engines.has(from.engine)) return undefined;
    getOrAdd(this.#engines, from.engine, () => new StandIn(named)).noteReport(report);
    if (report.type === 'began')
      this.beganAtUs = Math.min(report.beganAtUs, this.beganAtUs ?? Number.POSITIVE_INFINITY);
    return { from: named, ...report };
  }

  send(message: RunMessage): void {
    for (const engine of this.#engines.values()) engine.noteRequest(message);
    this.stream.send({ type: 'run', message });
  }

  /** Returns the replies of stand-ins for its engines; called once the host has left. */
  answersTo(message: RunMessage): EngineMessage[] {
    return [...this.#engines.values()].flatMap((engine) => engine.answer(message, this.#reason));
  }

  /** Marks the host as left. @returns the final status of its engines, and replies to the requests that are still open */
  leave(): EngineMessage[] {
    this.hasLeft = true;
    this.stopLostTimer();
    // Only the first engine reports the host's share, so that sums stay right.
    return [...this.#engines.values()].flatMap((engine, index) =>
      engine.takeOver(this.#reason, index === 0 ? this.#arrivals : 0),
    );
  }

  /** Disconnect reason under which its connections count as closed. */
  get #reason(): string {
    return this.lostReason === undefined ? OWN_DISCONNECT : AGENT_LOST;
  }
}
