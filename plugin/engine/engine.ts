/** The engine that Artillery loads, one per worker thread. Starts the fleet, then compiles each scenario to a function. */

import { monotonicUs } from '../../protocol/clock/clock.ts';
import { SOCKETS_PER_CONNECTION, transportsName } from '../../protocol/connection.ts';
import { CapacityError, describeError } from '../../protocol/errors.ts';
import { fleetProcesses } from '../../protocol/generator.ts';
import { openThreadCarrier } from '../../protocol/link/carrier.ts';
import type { EngineMessage, RunMessage } from '../../protocol/link/messages.ts';
import { thisHost } from '../../protocol/machine/host.ts';
import { openFileLimits } from '../../protocol/machine/open-files.ts';
import { formatProblems } from '../../protocol/problems.ts';
import { Fleet } from '../fleet/fleet.ts';
import type { FleetSettings } from '../fleet/messages.ts';
import { mostConnections } from '../script/load/flow.ts';
import { hostShareOf } from '../script/load/host-share.ts';
import { hasHttpSteps } from '../script/load/http-steps.ts';
import { flowsOf, usersAtOnce } from '../script/load/load.ts';
import { mostArrivalsOf, phasesOfShare } from '../script/load/phases.ts';
import { type EngineOptions, parseEngineOptions } from '../script/options/engine-options.ts';
import { plannedBroadcasts, plannedDelivery, plannedRooms } from '../script/planned.ts';
import { ENGINE, type Scenario, type Script, type ScriptPhase, usesOurEngine } from '../script/script.ts';
import { validateScript } from '../script/validate.ts';
import type { EngineContext, FleetLike } from '../virtual-user/context.ts';
import { FlowError } from '../virtual-user/flow-error.ts';
import { loadHttpEngine } from '../virtual-user/http-engine.ts';
import { Meter } from '../virtual-user/meter.ts';
import { createScenarioFunction } from '../virtual-user/scenario.ts';
import { Signals } from '../virtual-user/signals.ts';
import { STEPS } from '../virtual-user/steps/index.ts';
import { newTally } from '../virtual-user/tally.ts';
import type { Helpers, RunnerEvents, ScenarioEvents, ScenarioFunction } from '../virtual-user/types.ts';
import { sourceAddresses } from './addresses.ts';
import { RunLink } from './run-link.ts';
import { artilleryRuntime, type Runtime } from './runtime.ts';

const NO_RESULT =
  'This run has no result, no report and no verdict. To get them from any Socket.IO server, add the plugin: config.plugins: { socketio-capacity: {} }';

/** Dependencies that tests replace. */
interface EngineDependencies {
  startFleet: (settings: FleetSettings, processes: number) => Promise<FleetLike>;
  runtime: Runtime;
}

export default class CapacityEngine {
  readonly #script: Script;
  readonly #helpers: Helpers;
  readonly #dependencies: EngineDependencies;
  readonly #signals = new Signals();
  readonly #meter = new Meter();
  #context: EngineContext | undefined;
  #link: RunLink | undefined;
  /** When arrivals are to begin, on our clock. */
  #startAtUs: number | undefined;
  #began = false;

  /** Only stores its arguments: Artillery swallows errors of constructors, and fails later with a misleading message. */
  constructor(script: Script, events: RunnerEvents, helpers: Helpers, dependencies: Partial<EngineDependencies> = {}) {
    this.#script = script;
    this.#helpers = helpers;
    this.#dependencies = { startFleet: Fleet.start, runtime: artilleryRuntime(), ...dependencies };
    if (this.#hasHook) {
      events.on('phaseStarted', () => this.#begin());
      return;
    }
    this.#followPhases(events);
    events.on('done', () => this.#reportFailures());
  }

  /**
   * Resolves when arrivals can begin. A failure is reported and ends the run; the promise then never resolves, so that no
   * load starts. Artillery awaits the method only if it is declared `async`.
   */
  async init(): Promise<void> {
    const { runtime } = this.#dependencies;
    if (!runtime.isWorker) return;
    const link = this.#hasHook ? this.#linkTo(runtime) : undefined;
    this.#link = link;
    const { worker, workers } = this.#share;
    try {
      this.#context = await this.#start();
      link?.ready(this.#context, workers);
      if (this.#context && !link && worker === 1) runtime.warn(NO_RESULT);
    } catch (error) {
      const { code, message, fix } = asCapacityError(error);
      if (link) link.failed(code, message, fix);
      else runtime.abort(describeError(asCapacityError(error)));
      await new Promise(() => {});
    }
    if (!link) return;
    void this.#signals.start.promise.then((atUs) => {
      this.#startAtUs = atUs;
    });
    // Artillery prepares one worker after the other, and lets them run when the last one is ready.
    if (worker === workers) await this.#signals.start.promise;
  }

  /**
   * Artillery takes a moment to let its workers run, one after the other, and another one on each host. What it takes less than
   * until the time of the start, its arrivals are put off by, so that they begin everywhere at the same time.
   */
  #begin(): void {
    if (this.#began) return;
    this.#began = true;
    const nowUs = monotonicUs();
    const beganAtUs = Math.max(nowUs, this.#startAtUs ?? 0);
    if (this.#context) this.#context.putOffMs = (beganAtUs - nowUs) / 1000;
    this.#link?.began(beganAtUs);
  }

  /** For Artillery, failed virtual users do not fail a run, and without the hook there is no verdict either. */
  #reportFailures(): void {
    const { started = 0, succeeded = 0, failures = {}, examples = {} } = this.#context?.tally ?? {};
    for (const [code, text] of Object.entries(examples)) this.#dependencies.runtime.warn(`First ${code}: ${text}`);
    if (started === 0 || succeeded > 0) return;
    const causes = Object.entries(failures).map(([cause, count]) => `${cause} ${count}`);
    const message = `all ${started} virtual users failed: ${causes.join(', ')}`;
    const fix = "see the error codes of the steps; for a lower limit, give the scenario Artillery's `ensure`";
    this.#dependencies.runtime.fail(describeError(new CapacityError('ALL_FAILED', message, fix)));
  }

  #linkTo({ testRunId, engineId }: Runtime): RunLink {
    const carrier = openThreadCarrier<EngineMessage, RunMessage>(testRunId);
    const identity = { host: thisHost().kernel, engine: engineId };
    return new RunLink({ carrier, identity, signals: this.#signals, close: () => this.close() });
  }

  createScenario(scenario: Scenario, events: ScenarioEvents): ScenarioFunction {
    const context = this.#context;
    if (!context) return refuse(events);
    this.#meter.attach(events);
    return createScenarioFunction(scenario, events, context);
  }

  /** Closes the fleet and releases all virtual users that wait. Idempotent. */
  async close(): Promise<void> {
    this.#signals.release();
    this.#signals.finish.resolve();
    this.#meter.close();
    await this.#context?.fleet.close();
  }

  get #hasHook(): boolean {
    return this.#script.config.plugins?.[ENGINE] !== undefined;
  }

  /** @returns undefined when no scenario runs on this engine */
  async #start(): Promise<EngineContext | undefined> {
    const script = this.#script;
    const problems = validateScript(script, STEPS);
    if (problems.length > 0) {
      throw new CapacityError(
        'SCRIPT',
        `the script has mistakes\n${formatProblems(problems)}`,
        'correct the lines above',
      );
    }
    const ours = script.scenarios?.filter((scenario) => usesOurEngine(scenario, script)) ?? [];
    if (ours.length === 0) return undefined;
    const parsed = parseEngineOptions(script);
    if ('problems' in parsed) return undefined; // reported above
    const { options: config } = parsed;
    const connections =
      expectedConnections(script) * SOCKETS_PER_CONNECTION[transportsName(config.connection.transports)];
    const processes = fleetProcesses(connections, openFileLimits().soft, config.client);
    const http = ours.some(hasHttpSteps) ? await loadHttpEngine(script) : undefined;
    return {
      config,
      http,
      fleet: await this.#dependencies.startFleet(this.#fleetSettings(config, connections), processes),
      helpers: this.#helpers,
      processor: (script.config.processor ?? {}) as Record<string, unknown>,
      meter: this.#meter,
      tally: newTally(),
      signals: this.#signals,
      putOffMs: 0,
      warn: this.#dependencies.runtime.warn,
    };
  }

  /** Which of Artillery's workers this is. */
  get #share(): { worker: number; workers: number } {
    const { worker = 1, totalWorkers: workers = 1 } = this.#script.config.phases?.[0] ?? {};
    return { worker, workers };
  }

  /** Which of the run's generator hosts this is. */
  get #hostShare(): { index: number; of: number } {
    const { hosts, index = 0 } = hostShareOf(this.#hasHook ? process.env : {});
    return { index, of: hosts };
  }

  #fleetSettings(config: EngineOptions, connections: number): FleetSettings {
    const { worker, workers } = this.#share;
    return {
      client: config.client,
      defaults: config.connection,
      localAddresses: sourceAddresses(config.connection.url, config.localAddresses, connections * workers),
      // Only the hook reads the ledger, and a third-party server need not support acknowledgements.
      ledger: this.#hasHook,
      broadcasts: plannedBroadcasts(this.#script, process.env),
      ...roomsOf(this.#script),
      ...ownEventOf(this.#script),
      reconnection: config.reconnection,
      disconnectRatePerSec: config.disconnectRatePerSec / (workers * this.#hostShare.of),
      fleet: { index: worker - 1, of: workers },
      ...(this.#hostShare.of > 1 && { host: this.#hostShare }),
    };
  }

  /** Without the hook, held connections leave after the last phase. */
  #followPhases(events: RunnerEvents): void {
    const release = () => {
      this.#signals.release();
      this.#signals.finish.resolve();
    };
    const isLast = (phase: ScriptPhase) => phase === this.#script.config.phases?.at(-1);
    events.on('phaseCompleted', (phase) => isLast(phase) && release());
    // For a phase without arrivals Artillery emits no `phaseCompleted`.
    events.on('phaseStarted', (phase) => isLast(phase) && Number(phase.arrivalCount) === 0 && release());
  }
}

/** @returns an upper estimate of the connections that this worker's share of the script holds at the same time */
export function expectedConnections(script: Script): number {
  const flows = flowsOf(script, STEPS);
  const { count } = mostConnections(flows.map(({ connections }) => connections));
  return count * usersAtOnce(phasesOfShare(script.config.phases ?? []), flows, mostArrivalsOf);
}

function roomsOf(script: Script): Pick<FleetSettings, 'rooms'> {
  const rooms = plannedRooms(script, process.env);
  return rooms ? { rooms } : {};
}

function ownEventOf(script: Script): Pick<FleetSettings, 'ownEvent'> {
  const delivery = plannedDelivery(script);
  if (!delivery) return {};
  const { event, id, sentAt, bytes, join } = delivery;
  return { ownEvent: { event, id, sentAt, bytes, join } };
}

/** For the main thread, and after a failed start, where there is no fleet to run on. */
function refuse(events: ScenarioEvents): ScenarioFunction {
  return (context, callback) => {
    events.emit('started');
    events.emit('error', 'engine_not_started');
    callback(new FlowError('engine_not_started', `the fleet of ${ENGINE} was not started in this worker`), context);
  };
}

function asCapacityError(error: unknown): CapacityError {
  if (error instanceof CapacityError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new CapacityError('ENGINE_START', `the fleet did not start: ${message}`, 'see the lines above', {
    cause: error,
  });
}
