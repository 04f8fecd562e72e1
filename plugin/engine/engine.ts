/**
 * The Artillery engine of this tool; one instance in each worker thread. Starts the fleet, and compiles each scenario
 * to a function.
 */

import { monotonicUs } from '../../protocol/base/clock/clock.ts';
import {
  CONNECTIONS_PER_LOOPBACK_ADDRESS,
  fleetProcessCount,
} from '../../protocol/base/machine/generator-resources.ts';
import { rotatesLoopback } from '../../protocol/base/machine/loopback.ts';
import { openFileLimits } from '../../protocol/base/machine/open-files.ts';
import { thisHost } from '../../protocol/base/machine/this-host.ts';
import { onlyOnce } from '../../protocol/base/only-once.ts';
import { CapacityError } from '../../protocol/codes/errors.ts';
import { openThreadCarrier } from '../../protocol/link/carrier.ts';
import type { EngineMessage, RunMessage } from '../../protocol/link/link-messages.ts';
import { SOCKETS_PER_CONNECTION, transportsName } from '../../protocol/wire/connection.ts';
import { ownEventPlan } from '../fleet/client/counted-event.ts';
import { Fleet } from '../fleet/fleet.ts';
import type { FleetSettings } from '../fleet/fleet-messages.ts';
import { handedOverSettings, keepVariablesOfBefore } from '../script/handed-over.ts';
import { InvalidSettings } from '../script/invalid-settings.ts';
import { connectionsOfShare } from '../script/load/load.ts';
import { unreadKeys } from '../script/misspelt-names.ts';
import { type EngineOptions, parseEngineOptions } from '../script/options/engine-options.ts';
import { requireBounds } from '../script/required-bounds.ts';
import { readScenarios } from '../script/scenarios.ts';
import { ENGINE_NAME, type Scenario, type Script, type ScriptPhase, usesOurEngine } from '../script/script.ts';
import { setSecretsOfScript } from '../script/secrets.ts';
import type { Settings } from '../script/settings.ts';
import { unfilledTemplates } from '../script/unfilled-templates.ts';
import { type ArtilleryEngine, loadHttpEngine } from '../virtual-user/artillery-types.ts';
import { FlowError } from '../virtual-user/flow-error.ts';
import { countRequests } from '../virtual-user/http-requests.ts';
import { Meter } from '../virtual-user/meter.ts';
import type { SharedByUsers } from '../virtual-user/shared.ts';
import { RunSignals } from '../virtual-user/signals.ts';
import { STEP_KINDS } from '../virtual-user/steps/index.ts';
import { newUserTally } from '../virtual-user/tally.ts';
import type { ArtilleryHelpers, RunnerEvents, ScenarioEvents, ScenarioFunction } from '../virtual-user/user-types.ts';
import { countUsers, loadOtherEngines } from './other-engines.ts';
import { createScenarioFunction } from './play.ts';
import { type FleetLike, RunLink } from './run-link.ts';
import { type ArtilleryRuntime, artilleryRuntime } from './runtime.ts';

const NO_RESULT =
  'This run has no result, no report and no verdict. To get them from any Socket.IO server, add the plugin: config.plugins: { socketio-capacity: {} }';

/** Dependencies that can be replaced in tests. */
interface EngineDependencies {
  startFleet: (settings: FleetSettings, processes: number) => Promise<FleetLike>;
  runtime: ArtilleryRuntime;
}

type EngineContext = SharedByUsers & { fleet: FleetLike };

export default class CapacityEngine {
  readonly #script: Script;
  readonly #events: RunnerEvents;
  readonly #helpers: ArtilleryHelpers;
  readonly #dependencies: EngineDependencies;
  readonly #signals = new RunSignals();
  readonly #meter = new Meter();
  #context: EngineContext | undefined;
  #link: RunLink | undefined;
  /** Artillery engines of the scenarios that do not run on this engine. This engine counts their virtual users. */
  #others = new Map<Scenario, ArtilleryEngine>();
  /** Time at which all workers begin their arrivals, on the clock of this process. */
  #startAtUs: number | undefined;
  #began = false;
  /** Delay in milliseconds by which this worker's arrivals wait for the common start. */
  #startDelayMs = 0;

  /**
   * Stores the arguments only. Artillery hides errors of an engine's constructor, and fails later with a misleading
   * message.
   */
  constructor(
    script: Script,
    events: RunnerEvents,
    helpers: ArtilleryHelpers,
    dependencies: Partial<EngineDependencies> = {},
  ) {
    this.#script = script;
    this.#events = events;
    this.#helpers = helpers;
    this.#dependencies = { startFleet: Fleet.start, runtime: artilleryRuntime(), ...dependencies };
    if (this.#hasHook) events.on('phaseStarted', () => this.#begin());
    else this.#followPhases(events);
  }

  /**
   * Resolves when arrivals can begin. If the engine cannot start, reports the error, which ends the run. The promise
   * then stays pending, so that no load starts. Artillery awaits the method only if it is declared `async`.
   */
  async init(): Promise<void> {
    const { runtime } = this.#dependencies;
    if (!runtime.isWorker) return keepVariablesOfBefore(this.#script);
    const { worker, workers } = this.#share;
    const link = this.#hasHook ? this.#linkTo(runtime) : undefined;
    this.#link = link;
    try {
      this.#context = await this.#start();
    } catch (error) {
      const refusal = asCapacityError(error);
      if (link) link.failed(refusal.code, refusal.message, refusal.fix);
      else runtime.abort(refusal);
      await new Promise(() => {});
    }
    if (!link) {
      if (this.#context && worker === 1) runtime.warn(NO_RESULT);
      return;
    }
    link.ready(this.#context, workers);
    void this.#signals.start.promise.then((atUs) => {
      this.#startAtUs = atUs;
    });
    // Artillery initializes its workers one after the other, then starts all of them. So only the last worker has to
    // wait here.
    if (worker === workers) await this.#signals.start.promise;
  }

  /**
   * Delays this worker's arrivals until the common start time, because Artillery starts its workers one after the
   * other.
   */
  #begin(): void {
    if (this.#began) return;
    this.#began = true;
    const nowUs = monotonicUs();
    const beganAtUs = Math.max(nowUs, this.#startAtUs ?? 0);
    this.#startDelayMs = (beganAtUs - nowUs) / 1000;
    this.#link?.began(beganAtUs);
  }

  /**
   * Reports the first failures of virtual users, in a run without the plugin. If all virtual users failed, the run
   * fails; Artillery itself would pass it.
   */
  #reportFailures(): void {
    const { started = 0, succeeded = 0, failures = {}, losses = {}, examples = {} } = this.#context?.tally ?? {};
    for (const [code, text] of Object.entries(examples)) this.#dependencies.runtime.warn(`First ${code}: ${text}`);
    if (started === 0 || succeeded > 0) return;
    const causes = Object.entries({ ...failures, ...losses }).map(([cause, count]) => `${cause} ${count}`);
    const message = `all ${started} virtual users failed: ${causes.join(', ')}`;
    const fix = "see the error codes of the steps; for a lower limit, give the scenario Artillery's `ensure`";
    this.#dependencies.runtime.fail(new CapacityError('ALL_FAILED', message, fix));
  }

  #linkTo({ testRunId, engineId }: ArtilleryRuntime): RunLink {
    const carrier = openThreadCarrier<EngineMessage, RunMessage>(testRunId);
    const identity = { host: thisHost().kernel, engine: engineId };
    return new RunLink({ carrier, identity, signals: this.#signals, close: () => this.close() });
  }

  createScenario(scenario: Scenario, events: ScenarioEvents): ScenarioFunction {
    const context = this.#context;
    if (!context) return refuse(events);
    context.meter.attach(events);
    const other = this.#others.get(scenario);
    if (other) return countUsers(other.createScenario(scenario, events), context.tally.otherUsers);
    return createScenarioFunction(scenario, events, context, () => this.#startDelayMs);
  }

  /** Closes the fleet and releases all waiting virtual users. Idempotent. */
  async close(): Promise<void> {
    this.#release();
    this.#meter.close();
    await this.#context?.fleet.close();
  }

  #release(): void {
    this.#signals.release.resolve();
    this.#signals.finish.resolve();
  }

  get #hasHook(): boolean {
    return this.#script.config.plugins?.[ENGINE_NAME] !== undefined;
  }

  /**
   * Starts the fleet of this worker.
   * @returns undefined if no scenario runs on this engine
   */
  async #start(): Promise<EngineContext | undefined> {
    const script = this.#script;
    requireBounds(script);
    setSecretsOfScript(script, process.env);
    // Scenarios are read in the worker, because only the worker has the processor's functions and the changes by other
    // plugins.
    const { flows, problems } = readScenarios(script, STEP_KINDS);
    const isUsed = script.scenarios?.some((scenario) => usesOurEngine(scenario, script)) ?? false;
    const settings = this.#hasHook ? handedOverSettings() : undefined;
    // The plugin's settings have already been validated in the main thread.
    const config = this.#hasHook || !isUsed ? settings?.engineOptions : parseEngineOptions(script, problems);
    if (!this.#hasHook) problems.push(...unreadKeys(script), ...unfilledTemplates(script, process.env));
    if (problems.length > 0) throw new InvalidSettings(problems);
    if (!config) return undefined;
    const connections =
      connectionsOfShare(script.config.phases ?? [], flows) *
      SOCKETS_PER_CONNECTION[transportsName(config.connection.transports)];
    const processes = fleetProcessCount(connections, openFileLimits().soft, config.client);
    const tally = newUserTally();
    const loadHttp = onlyOnce(async () => countRequests(await loadHttpEngine(script), tally.http));
    const http = flows.some(({ http }) => http) ? await loadHttp() : undefined;
    if (this.#hasHook) {
      this.#others = await loadOtherEngines(script, loadHttp, this.#events, this.#helpers);
      for (const scenario of this.#others.keys()) scenario.engine = ENGINE_NAME;
    }
    return {
      config,
      http,
      fleet: await this.#dependencies.startFleet(this.#fleetSettings(config, connections, settings), processes),
      helpers: this.#helpers,
      processor: (script.config.processor ?? {}) as Record<string, unknown>,
      meter: this.#meter,
      tally,
      signals: this.#signals,
      warn: this.#dependencies.runtime.warn,
    };
  }

  /** Number of this Artillery worker (from 1), and the total number of Artillery's workers. */
  get #share(): { worker: number; workers: number } {
    const { worker = 1, totalWorkers: workers = 1 } = this.#script.config.phases?.[0] ?? {};
    return { worker, workers };
  }

  #fleetSettings(config: EngineOptions, connections: number, settings: Settings | undefined): FleetSettings {
    const { worker, workers } = this.#share;
    const { hosts, index = 0 } = settings?.share ?? { hosts: 1 };
    return {
      client: config.client,
      defaults: config.connection,
      localAddresses: sourceAddresses(config.connection.url, config.localAddresses, connections * workers),
      // Only a run with the plugin uses the ledger. The ledger needs acknowledged joins, which some servers do not
      // support.
      ledger: this.#hasHook,
      ...(settings && planOf(settings)),
      reconnection: config.reconnection,
      disconnectRatePerSec: config.disconnectRatePerSec / (workers * hosts),
      fleet: { index: worker - 1, of: workers },
      ...(hosts > 1 && { host: { index, of: hosts } }),
    };
  }

  /** Releases held connections after the last phase, in a run without the plugin. */
  #followPhases(events: RunnerEvents): void {
    events.on('done', () => this.#reportFailures());
    const isLast = (phase: ScriptPhase) => phase === this.#script.config.phases?.at(-1);
    events.on('phaseCompleted', (phase) => isLast(phase) && this.#release());
    // Artillery emits no `phaseCompleted` for a phase that has no arrivals.
    events.on('phaseStarted', (phase) => isLast(phase) && Number(phase.arrivalCount) === 0 && this.#release());
  }
}

/** Returns the part of the fleet's settings that depends on the run: broadcasts, rooms, and events to count. */
function planOf({
  broadcasts,
  rooms,
  delivery,
  counts,
  usersLeave,
}: Settings): Pick<FleetSettings, 'broadcasts' | 'rooms' | 'ownEvent' | 'countedEvents'> {
  const plan = {
    broadcasts: { count: broadcasts.count, bytes: broadcasts.bytes },
    ...(rooms.count > 1 && { rooms }),
    countedEvents: counts,
  };
  if (!delivery) return plan;
  return { ...plan, ownEvent: ownEventPlan(delivery, usersLeave) };
}

/**
 * Returns a scenario function that fails every virtual user. It is used if there is no fleet: in the main thread, or
 * after a failed start.
 */
function refuse(events: ScenarioEvents): ScenarioFunction {
  return (context, callback) => {
    events.emit('started');
    events.emit('error', 'engine_not_started');
    callback(
      new FlowError('engine_not_started', `the fleet of ${ENGINE_NAME} was not started in this worker`),
      context,
    );
  };
}

function asCapacityError(error: unknown): CapacityError {
  if (error instanceof CapacityError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new CapacityError('START_FAILED', `the fleet did not start: ${message}`, undefined, {
    cause: error,
  });
}

/**
 * Returns the source addresses for the connections of all Artillery workers. If none are configured and the target is a
 * loopback address: 127.0.0.2, 127.0.0.3, …. An empty list lets the kernel choose.
 */
export function sourceAddresses(target: string, explicit: string[], connections: number): string[] {
  if (explicit.length > 0) return explicit;
  const { hostname } = new URL(target);
  if (!rotatesLoopback(hostname)) return [];
  const count = Math.ceil(connections / CONNECTIONS_PER_LOOPBACK_ADDRESS);
  if (count <= 1) return [];
  return Array.from({ length: count }, (_, index) => `127.0.${Math.floor((index + 2) / 256)}.${(index + 2) % 256}`);
}
