/** One generator host, as the conductor sees it: its reports and its engines. Stand-ins answer for the engines once it is lost. */
import type { Socket } from 'socket.io';
import { getOrAdd } from '../../../protocol/base/get-or-add.ts';
import type { EngineMessage, RunMessage } from '../../../protocol/link/link-messages.ts';
import type { MachineShares } from '../../../protocol/result/machine-schema.ts';
import { OWN_DISCONNECT } from '../../../protocol/wire/connection.ts';
import type { GeneratorHost, GeneratorWindow, ShareWindow } from '../../run/measurements/generator-measured.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import { takenShare } from '../../run/windows/resource-windows.ts';
import { meanShares } from '../../samplers/index.ts';
import type { AgentMessage, Hello, HubMessage, MachineRow } from './host-messages.ts';
import type { HostTotals } from './host-totals.ts';
import { StandIn } from './stand-in.ts';
import type { Stream } from './stream.ts';

const AGENT_LOST = 'agent lost';
/** Limit far above the need of hosts: Artillery starts one engine for each core. */
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

/** A generator host's CPU readings, averaged by stage and selected by window of the run. */
const WINDOWS: Partial<Record<string, GeneratorWindow>> = { ramp: 'ramp', hold: 'messages', broadcasts: 'broadcasts' };

export class MachineWindows {
  /** Keyed by the index of the stage in the run. */
  readonly #idle = new Map<number, { window: GeneratorWindow; sum: number; rows: number }>();
  readonly #shares = new Map<number, { window: ShareWindow; mean: MachineShares }>();

  add(
    { atUs, cpuIdlePercent, shares }: MachineRow,
    { stages, samplesBeganAtUs = atUs }: Pick<Measurements, 'stages' | 'samplesBeganAtUs'>,
  ): void {
    const stageAt = (timeUs: number) => stages.findLastIndex(({ t }) => t * 1e6 <= timeUs - samplesBeganAtUs);
    const windowOf = (stage: number) => WINDOWS[stages[stage]?.name ?? ''];
    if (shares) {
      const middle = stageAt(atUs - (shares.seconds * 1e6) / 2);
      const window = windowOf(middle);
      const before = this.#shares.get(middle);
      if (window) this.#shares.set(middle, { window, mean: meanShares([...(before ? [before.mean] : []), shares]) });
    }
    const stage = stageAt(atUs);
    const window = windowOf(stage);
    if (window === undefined || cpuIdlePercent === null) return;
    const { sum, rows } = this.#idle.get(stage) ?? { sum: 0, rows: 0 };
    this.#idle.set(stage, { window, sum: sum + cpuIdlePercent, rows: rows + 1 });
  }

  /** Mean idle CPU of the busiest stage of each window. An average over all ramps would hide the last, busiest one. */
  get cpuIdlePercent(): GeneratorHost['cpuIdlePercent'] {
    const lowest: GeneratorHost['cpuIdlePercent'] = {};
    for (const { window, sum, rows } of this.#idle.values())
      lowest[window] = Math.min(lowest[window] ?? 100, sum / rows);
    return lowest;
  }

  /** Shares of the stage in each window in which other programs took the most CPU. */
  get shares(): GeneratorHost['shares'] {
    const highest: GeneratorHost['shares'] = {};
    for (const { window, mean } of this.#shares.values()) {
      const before = highest[window];
      if (!before || takenShare(mean) > takenShare(before)) highest[window] = mean;
    }
    return highest;
  }
}
