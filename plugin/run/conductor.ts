/**
 * Runs the measurements around Artillery's phases. Before the first phase: warm-up, baseline and unloaded round trips.
 * In each pause: memory at a constant number of connections. After the last phase: hold, broadcasts, drain, disconnect
 * and residual memory. All results go to `context.measurements`.
 */

import { monotonicUs } from '../../protocol/base/clock/clock.ts';
import { arrivalsOf } from '../script/load/phases.ts';
import type { OverTimeOptions } from '../script/options/plugin-options.ts';
import { contractBroadcasts } from './broadcasts/contract-broadcasts.ts';
import { checkIdPath, ownEventBroadcasts } from './broadcasts/own-event.ts';
import { measureIdleRedisCpu } from './broadcasts/redis-commands.ts';
import { measureSingleRoundTrips } from './broadcasts/round-trips.ts';
import { measureBroadcasts } from './broadcasts/window.ts';
import { Checkpoints } from './checkpoints/checkpoints.ts';
import type { RunContext } from './context.ts';
import { measureFault } from './fault/measure-fault.ts';
import { LeavingUsers } from './leaving-users.ts';
import { forcesCollections } from './measurements/collecting.ts';
import type { OverTimeMeasured } from './measurements/memory-measured.ts';
import { workerIdentityOf } from './measurements/worker-identity.ts';
import { measureChurn, measureWave, newOverTime } from './memory/measure-over-time.ts';
import {
  measureBaseline,
  measureMachineGrowth,
  measurePlateau,
  measureResidualMemory,
  startHeapProfiles,
  takeHeapProfiles,
} from './memory/plateau.ts';
import type { Arrivals } from './population.ts';
import type { RunStage } from './stage.ts';
import { warmUpWorkers } from './warm-up.ts';
import { beginGeneratorWindow, endGeneratorWindow, endIdleHoldWindow } from './windows/generator-window.ts';
import { measureCpuWithoutMessages, measureIdleCpu, measureUnloadedCpu } from './windows/idle-windows.ts';
import { beginEventCounts, endMessageWindow, measureMessageWindow } from './windows/message-window.ts';
import { profileCpu } from './windows/profiled-window.ts';
import { addRampPhase, beginRampWindow, endRamp } from './windows/ramp-window.ts';

/** Time limit for the arrivals of a phase to connect and join after the phase has ended. */
const SETTLE_TIMEOUT_MS = 30_000;
/**
 * Time limit for all connections to close, in milliseconds. Workers on the same cores as the generator needed 0.4 ms
 * per connection.
 */
const LEAVE_TIMEOUT_MS = 120_000;
const LEAVE_TIMEOUT_MS_PER_CONNECTION = 1;
/** Maximum age of the server's connection count, in milliseconds. */
const COUNT_AGE_MS = 1000;

export class Conductor {
  stage: RunStage = 'warm-up';
  onStage: () => void = () => {};
  /**
   * Whether virtual users may disconnect, because all measurements that need them are done, or because they disconnect
   * by themselves.
   */
  released: boolean;
  readonly #context: RunContext;
  readonly #checkpoints: Checkpoints;
  readonly #arrivals: Arrivals = { count: 0, mayBeSkipped: false };
  /** Measures a load whose virtual users all leave by themselves; undefined if the users stay. */
  readonly #leaving: LeavingUsers | undefined;
  #ramp: Awaited<ReturnType<typeof beginRampWindow>> | undefined;
  /** Whether users have arrived since the last wave was measured. */
  #hasArrivals = false;

  constructor(context: RunContext) {
    this.#context = context;
    this.released = context.config.overTime !== undefined;
    this.#checkpoints = new Checkpoints(context);
    this.#leaving = context.config.usersLeave ? new LeavingUsers(context) : undefined;
  }

  /** Warms up the server, then measures the baseline and the probe's round trips without load. */
  async prepare(): Promise<void> {
    const { control, measurements, sampler, population, clocks, signal } = this.#context;
    const { workers, others } = await this.#checkpoints.begin();
    measurements.workersAtStart = workers.map(workerIdentityOf);
    measurements.redisStream = workers.find(({ stream }) => stream !== undefined)?.stream;
    if (others > 0) measurements.observations.note('connectionsBefore', { others });
    await clocks.read();
    clocks.follow();
    await warmUpWorkers(this.#context);
    // Waits for a new connection count from the server, because an older count could include warm-up connections.
    await population.gone(COUNT_AGE_MS, signal);
    if (signal.aborted) return;
    await control.eventLoops(true);
    sampler.start();
    measurements.samplesBeganAtUs = monotonicUs();
    this.#enter('baseline');
    await measureBaseline(this.#context, this.#checkpoints);
    await measureUnloadedCpu(this.#context);
    await measureSingleRoundTrips(this.#context);
    if (!this.#context.config.overTime) await startHeapProfiles(this.#context);
  }

  /**
   * Called at the start of a phase.
   * @param beganAtUs time at which Artillery began the phase
   */
  async phaseStarted(index: number, beganAtUs = monotonicUs()): Promise<void> {
    const { config, measurements } = this.#context;
    const phase = config.phases[index];
    if (!phase) return;
    const { overTime } = config;
    if (arrivalsOf(phase) === 0) {
      const untilMs = performance.now() + (phase.pause ?? 0) * 1000;
      this.#enter(this.#hasWaves ? 'wave' : 'plateau');
      await this.#endRamp();
      if (overTime) await this.#measureWave(untilMs);
      else if (this.#arrivals.count > 0) await measurePlateau(this.#context, this.#checkpoints);
      if (config.delivery) await checkIdPath(this.#context, config.delivery);
      return;
    }
    this.#enter(overTime?.every === undefined ? 'ramp' : 'churn');
    this.#hasArrivals = true;
    this.#arrivals.count += arrivalsOf(phase);
    this.#arrivals.mayBeSkipped ||= phase.maxVusers !== undefined;
    addRampPhase(measurements.ramps, phase, beganAtUs);
    if (!this.#ramp) {
      await beginGeneratorWindow(this.#context);
      this.#ramp = await beginRampWindow(this.#context, phase.duration ?? 0);
    }
    this.#leaving?.begin();
    await this.#readWhileUsersComeAndGo({ seconds: phase.duration ?? 0 });
  }

  /** Runs all measurements after the last phase. Ends early when the run is aborted. */
  async finale(): Promise<void> {
    const { measurements, config, population, control, holds } = this.#context;
    if (this.#leaving) await this.#untilAllLeft(this.#leaving);
    await this.#endRamp();
    if (config.overTime) await this.#measureWave(performance.now() + leaveTimeoutMs(population.connections()));
    else if (measurements.plateaus.at(-1)?.connections !== population.connections())
      await measurePlateau(this.#context, this.#checkpoints);
    await takeHeapProfiles(this.#context);
    const { messages } = measurements;
    const counting = config.counts && !config.overTime ? await beginEventCounts(this.#context) : undefined;
    if (this.#leaving) await measureUnloadedCpu(this.#context);
    else if (config.hold > 0) {
      await this.#during('hold', () =>
        measureIdleRedisCpu(this.#context, () =>
          messages ? measureMessageWindow(this.#context, messages) : this.#idleHold(),
        ),
      );
    }
    const { delivery, broadcasts, fault } = config;
    const onDrain = () => this.#enter('drain');
    if (delivery && delivery.seconds > 0 && !this.#leaving) {
      const ownEvent = ownEventBroadcasts(this.#context, delivery);
      await this.#during('broadcasts', () => measureBroadcasts(this.#context, ownEvent, onDrain));
    } else if (!delivery && broadcasts.count > 0 && !this.#leaving) {
      const meanwhile = async (leadMs: number) => {
        const when = { leadMs, window: 'broadcasts' as const };
        if (fault) await measureFault(this.#context, this.#checkpoints, fault, when);
      };
      await this.#during('broadcasts', () =>
        measureBroadcasts(this.#context, contractBroadcasts(this.#context), onDrain, meanwhile),
      );
    } else if (fault) {
      // Reconnects during a fault belong to the measurement window `ramp`.
      await this.#during('fault', () =>
        measureFault(this.#context, this.#checkpoints, fault, { leadMs: 0, window: 'ramp' }),
      );
    }
    await counting?.end();
    if (messages) {
      await endMessageWindow(this.#context);
      if (!this.#leaving) await measureCpuWithoutMessages(this.#context);
    }
    // Memory cannot be compared if a fault replaced processes, or after the connections of the waves have closed.
    if (!fault && !config.overTime) await measureMachineGrowth(this.#context);
    measurements.snapshots = await this.#checkpoints.end();
    if (holds) await this.#during('disconnect', () => this.#disconnect());
    this.#enter('end of the run');
    measurements.eventLoops = await control.eventLoops(false);
    const stats = await control.stats();
    measurements.workersAtEnd = stats.map(workerIdentityOf);
    if (this.#context.profiler) await this.#during('profile', () => profileCpu(this.#context));
    this.#enter('done');
  }

  /** Looks for the reason why the run was aborted, such as a worker that has exited. */
  async stopped(): Promise<void> {
    await this.#checkpoints.stopped();
  }

  async #idleHold(): Promise<void> {
    await this.#context.resources.begin();
    await measureIdleCpu(this.#context);
    await endIdleHoldWindow(this.#context);
  }

  async #endRamp(): Promise<void> {
    const context = this.#context;
    const { population, measurements, signal } = context;
    const settled = await population.settled(this.#arrivals, SETTLE_TIMEOUT_MS, signal);
    if (!settled && !signal.aborted) {
      const { started, others, connecting, joining, away } = context.link.status;
      const { count: arrivals } = this.#arrivals;
      const notStarted = Math.max(0, arrivals - started - others);
      const open = { arrivals, seconds: SETTLE_TIMEOUT_MS / 1000, notStarted, connecting, joining, away };
      measurements.observations.note('usersUnsettled', open, arrivals);
    }
    if (context.config.otherEngines.length > 0) countUsers(context);
    const connections = population.connections();
    measurements.peakConnections = Math.max(measurements.peakConnections, connections);
    endRamp(measurements.ramps);
    const window = this.#ramp;
    this.#ramp = undefined;
    if (!window) return;
    const ramp = await window.end();
    // If `overTime.every` is set, the CPU time includes forced garbage collections.
    const { overTime, usersLeave } = context.config;
    if (overTime?.every === undefined || usersLeave) measurements.cpu.ramps.push(ramp);
    await endGeneratorWindow(context, 'ramp');
  }

  /** Reads memory until the last virtual user has left. */
  async #untilAllLeft(leaving: LeavingUsers): Promise<void> {
    const times = { seconds: Number.POSITIVE_INFINITY, over: leaving.over };
    await Promise.all([leaving.untilGone(), this.#readWhileUsersComeAndGo(times)]);
  }

  async #readWhileUsersComeAndGo(times: { seconds: number; over?: AbortSignal }): Promise<void> {
    const everySeconds = this.#context.config.overTime?.every;
    if (everySeconds === undefined) return;
    const onReading = () => this.onStage();
    await measureChurn(this.#context, this.#checkpoints, this.#overTime(), { ...times, everySeconds }, onReading);
  }

  /**
   * Measures memory while the users of the latest wave are connected. Does nothing if users connect and disconnect all
   * the time.
   */
  async #measureWave(untilMs: number): Promise<void> {
    const { signal } = this.#context;
    if (!this.#hasWaves || !this.#hasArrivals || signal.aborted) return;
    this.#hasArrivals = false;
    const onGone = () => this.#enter('after the wave');
    const leaveMs = untilMs - performance.now();
    const overTime = this.#overTime();
    await measureWave(this.#context, this.#checkpoints, overTime, leaveMs, onGone);
    // Profiles the heap only after the first wave, whose connections cause one-time allocations.
    if (overTime.collected && overTime.readings.added > 0) await startHeapProfiles(this.#context);
  }

  get #hasWaves(): boolean {
    const { overTime } = this.#context.config;
    return overTime !== undefined && overTime.every === undefined;
  }

  #overTime(): OverTimeMeasured {
    const { config, measurements } = this.#context;
    const { overTime, usersLeave } = config;
    measurements.overTime ??= newOverTime(overTime as OverTimeOptions, forcesCollections(measurements), usersLeave);
    return measurements.overTime;
  }

  async #disconnect(): Promise<void> {
    const { population, link, measurements, signal } = this.#context;
    this.released = true;
    link.tell({ type: 'release' });
    const timeoutMs = leaveTimeoutMs(population.connections());
    if (!(await population.gone(timeoutMs, signal))) {
      if (signal.aborted) return;
      const stayed = { connections: population.connections(), seconds: Math.round(timeoutMs / 1000) };
      measurements.observations.note('connectionsStayed', stayed);
      return;
    }
    await measureResidualMemory(this.#context, this.#checkpoints);
  }

  async #during(stage: RunStage, measure: () => Promise<void>): Promise<void> {
    if (this.#context.signal.aborted) return;
    this.#enter(stage);
    await measure();
  }

  #enter(stage: RunStage): void {
    this.stage = stage;
    const { measurements, sampler } = this.#context;
    measurements.stages.push({ name: stage, t: sampler.seconds() });
    this.onStage();
  }
}

/**
 * Corrects the planned number of users if some users run on other engines. Artillery chooses the scenario of each user
 * at random.
 */
function countUsers({ measurements, link, config }: RunContext): void {
  const { started, others } = link.status;
  const { ratePerSec } = config.load;
  measurements.targetConnections = started;
  if (measurements.expectedAtOnce !== null) measurements.expectedAtOnce = started;
  measurements.configuredRatePerSec = ratePerSec && (ratePerSec * started) / Math.max(1, started + others);
}

function leaveTimeoutMs(connections: number): number {
  return LEAVE_TIMEOUT_MS + connections * LEAVE_TIMEOUT_MS_PER_CONNECTION;
}
