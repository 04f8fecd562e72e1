/** One host of a run, as the conductor sees it: what it has told, and its engines, for which others answer once it is gone. */
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
/** Artillery has one for each core. */
const MAX_ENGINES = 10_000;

export class Host {
  /** Unique in the run: the host's name, with its index where there is one. */
  readonly name: string;
  readonly hello: Hello;
  readonly stream: Stream<HubMessage, AgentMessage>;
  /** The latest one. */
  socket: Socket | undefined;
  /** When its first phase began, on the conductor's clock: of its engines, the first one's. */
  beganAtUs: number | undefined;
  /** Why it is gone, if it should not be. */
  lost: string | undefined;
  clock: MachineRow['clock'] | undefined;
  readonly windows = new MachineWindows();
  /** It can bring its share. */
  fits = false;
  /** Artillery has ended there, or nobody waits for it any more. */
  left = false;
  hasSaidGoodbye = false;
  /** Highest phase that has ended there. */
  completed = -1;
  skippedUsers = 0;
  /** Artillery's own metrics there, once it has ended. */
  totals: HostTotals | undefined;
  /** It has sent an invalid message. */
  garbled = false;
  readonly #engines = new Map<string, StandIn>();
  #silent: NodeJS.Timeout | undefined;

  constructor(name: string, hello: Hello, stream: Stream<HubMessage, AgentMessage>) {
    this.name = name;
    this.hello = hello;
    this.stream = stream;
  }

  /** For the result. */
  get measured(): GeneratorHost {
    const { name, hello, beganAtUs, lost, clock } = this;
    const { cpuIdlePercent, shares } = this.windows;
    const { cores, memoryLimitBytes, machine, kernel } = hello;
    const own = { cores, memoryLimitBytes, machine, kernel };
    return { host: name, ...own, beganAtUs, lost, clock, arrivals: this.#arrivals, cpuIdlePercent, shares };
  }

  get #arrivals(): number {
    return this.hello.arrivals.reduce((sum, count) => sum + count, 0);
  }

  get isAwaited(): boolean {
    return this.#silent !== undefined;
  }

  awaitBack(afterMs: number, onLost: () => void): void {
    this.#silent = setTimeout(onLost, afterMs);
  }

  stopWaiting(): void {
    clearTimeout(this.#silent);
    this.#silent = undefined;
  }

  /**
   * An engine knows its host by the kernel, which several hosts of this run may share.
   * @returns the message with the name that the host has in this run; undefined where there are too many engines
   */
  named({ from, ...report }: EngineMessage): EngineMessage | undefined {
    const named = { host: this.name, engine: from.engine };
    if (this.#engines.size >= MAX_ENGINES && !this.#engines.has(from.engine)) return undefined;
    getOrAdd(this.#engines, from.engine, () => new StandIn(named)).noteReport(report);
    if (report.type === 'began')
      this.beganAtUs = Math.min(report.beganAtUs, this.beganAtUs ?? Number.POSITIVE_INFINITY);
    return { from: named, ...report };
  }

  ask(message: RunMessage): void {
    for (const engine of this.#engines.values()) engine.noteAsked(message);
    this.stream.send({ type: 'run', message });
  }

  /** @returns what its engines would answer; to be called once it has left */
  answersTo(message: RunMessage): EngineMessage[] {
    return [...this.#engines.values()].flatMap((engine) => engine.answer(message, this.#reason));
  }

  /** @returns the last words of its engines, and the answers that they owe */
  leave(): EngineMessage[] {
    this.left = true;
    this.stopWaiting();
    // Only the first one reports the share, so that sums stay right.
    return [...this.#engines.values()].flatMap((engine, index) =>
      engine.takeOver(this.#reason, index === 0 ? this.#arrivals : 0),
    );
  }

  /** By which its connections count as ended. */
  get #reason(): string {
    return this.lost === undefined ? OWN_DISCONNECT : AGENT_LOST;
  }
}
