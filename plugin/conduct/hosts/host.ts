/**
 * The conductor's view of one generator host: its reports and its engines. After the host is lost, substitutes reply in
 * place of the host's engines.
 */
import type { Socket } from 'socket.io';
import { getOrAdd } from '../../../protocol/base/get-or-add.ts';
import type { EngineMessage, RunMessage } from '../../../protocol/link/link-messages.ts';
import type { MachineShares } from '../../../protocol/result/machine-schema.ts';
import { CLIENT_DISCONNECT_REASON } from '../../../protocol/wire/connection.ts';
import type { GeneratorHost, GeneratorWindow, ShareWindow } from '../../run/measurements/generator-measured.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import { otherProgramsShare } from '../../run/windows/resource-windows.ts';
import { meanMachineShares } from '../../samplers/index.ts';
import type { AgentMessage, HostHello, HubMessage, MachineRow } from './host-messages.ts';
import type { HostTotals } from './host-totals.ts';
import { LostEngineStandIn } from './stand-in.ts';
import type { ReliableStream } from './stream.ts';

const AGENT_LOST = 'agent lost';
/**
 * Maximum number of engines of a host. It is far above the usual number, because Artillery starts one engine per core.
 */
const MAX_ENGINES = 10_000;

export class JoinedHost {
  /** Name of the host within the run: its host name, with an index if several hosts have the same host name. */
  readonly name: string;
  readonly hello: HostHello;
  readonly stream: ReliableStream<HubMessage, AgentMessage>;
  /** Socket of the host's latest connection. */
  socket: Socket | undefined;
  /** When the first engine of the host began its first phase, on the conductor's clock. */
  beganAtUs: number | undefined;
  /** Why the run declared the host lost; undefined otherwise. */
  lostReason: string | undefined;
  clock: MachineRow['clock'] | undefined;
  readonly windows = new MachineWindows();
  /** Whether the host is ready: the doctor's checks on the host show that it can generate its share. */
  isReady = false;
  /** Whether Artillery has ended on the host, or the host is lost. */
  hasLeft = false;
  hasSaidGoodbye = false;
  /** Highest phase that the host has completed. */
  completedPhase = -1;
  skippedUsers = 0;
  /** Artillery's own metrics on this host. Set when Artillery has ended. */
  totals: HostTotals | undefined;
  hasSentInvalidMessage = false;
  readonly #engines = new Map<string, LostEngineStandIn>();
  #lostTimer: NodeJS.Timeout | undefined;

  constructor(name: string, hello: HostHello, stream: ReliableStream<HubMessage, AgentMessage>) {
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

  /** Whether the host is disconnected and the run waits for its reconnect. */
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
   * Replaces the host's id in an engine's message by the host's unique name. The id alone is not enough, because
   * several hosts of a run may have the same kernel.
   * @returns the message with the unique name; undefined if the host has too many engines
   */
  withHostName({ from, ...report }: EngineMessage): EngineMessage | undefined {
    const named = { host: this.name, engine: from.engine };
    if (this.#engines.size >= MAX_ENGINES && !this.#engines.has(from.engine)) return undefined;
    getOrAdd(this.#engines, from.engine, () => new LostEngineStandIn(named)).noteReport(report);
    if (report.type === 'began')
      this.beganAtUs = Math.min(report.beganAtUs, this.beganAtUs ?? Number.POSITIVE_INFINITY);
    return { from: named, ...report };
  }

  send(message: RunMessage): void {
    for (const engine of this.#engines.values()) engine.noteRequest(message);
    this.stream.send({ type: 'run', message });
  }

  /** Returns the replies of the substitutes for the host's engines. Only called after the host has left. */
  answersTo(message: RunMessage): EngineMessage[] {
    return [...this.#engines.values()].flatMap((engine) => engine.answer(message, this.#reason));
  }

  /**
   * Marks the host as left.
   * @returns the final status of its engines, and the replies to their unanswered requests
   */
  leave(): EngineMessage[] {
    this.hasLeft = true;
    this.stopLostTimer();
    // Only the first engine of a host reports the host's arrivals, so that sums over engines count them once.
    return [...this.#engines.values()].flatMap((engine, index) =>
      engine.takeOver(this.#reason, index === 0 ? this.#arrivals : 0),
    );
  }

  /** Disconnect reason with which the host's connections count as closed after the host has left. */
  get #reason(): string {
    return this.lostReason === undefined ? CLIENT_DISCONNECT_REASON : AGENT_LOST;
  }
}

/** Measurement window by stage of the run. CPU readings of a generator host are averaged over each stage. */
const WINDOWS: Partial<Record<string, GeneratorWindow>> = { ramp: 'ramp', hold: 'messages', broadcasts: 'broadcasts' };

export class MachineWindows {
  /** Readings of idle CPU, by the index of the stage in the run. */
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
      if (window)
        this.#shares.set(middle, { window, mean: meanMachineShares([...(before ? [before.mean] : []), shares]) });
    }
    const stage = stageAt(atUs);
    const window = windowOf(stage);
    if (window === undefined || cpuIdlePercent === null) return;
    const { sum, rows } = this.#idle.get(stage) ?? { sum: 0, rows: 0 };
    this.#idle.set(stage, { window, sum: sum + cpuIdlePercent, rows: rows + 1 });
  }

  /**
   * Returns the mean idle CPU in the busiest stage of each measurement window. A mean over all ramps would hide the
   * last ramp, which is the busiest.
   */
  get cpuIdlePercent(): GeneratorHost['cpuIdlePercent'] {
    const lowest: GeneratorHost['cpuIdlePercent'] = {};
    for (const { window, sum, rows } of this.#idle.values())
      lowest[window] = Math.min(lowest[window] ?? 100, sum / rows);
    return lowest;
  }

  /** Returns the CPU use in each measurement window, from the stage in which other programs used the most CPU. */
  get shares(): GeneratorHost['shares'] {
    const highest: GeneratorHost['shares'] = {};
    for (const { window, mean } of this.#shares.values()) {
      const before = highest[window];
      if (!before || otherProgramsShare(mean) > otherProgramsShare(before)) highest[window] = mean;
    }
    return highest;
  }
}
