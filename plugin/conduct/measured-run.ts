/**
 * Makes one measured run, from its settings to its result, files and exit code. Closes all resources that it has
 * opened.
 */
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { monotonicUs } from '../../protocol/base/clock/clock.ts';
import { reportFatalError } from '../../protocol/base/fatal-error.ts';
import { CapacityError, describeError } from '../../protocol/codes/errors.ts';
import { type CommandOutcome, exitCodeOfOutcome } from '../../protocol/codes/exit-codes.ts';
import type { V8Profile } from '../../protocol/profiles/profile-schema.ts';
import type { Result } from '../../protocol/result/result.ts';
import { concludeRun } from '../findings/conclude.ts';
import { createLiveFactsReader } from '../live/live-figures.ts';
import type { LiveView } from '../live/live-server.ts';
import { openLiveView } from '../live/open-live-view.ts';
import { describeEnvironment, resultSettings } from '../result/assemble-environment.ts';
import { ResourceClosers } from '../run/closers.ts';
import { Conductor } from '../run/conductor.ts';
import type { RunContext } from '../run/context.ts';
import type { RunFiles } from '../run/folder/run-files.ts';
import { RunFolder } from '../run/folder/run-folder.ts';
import type { EngineLink } from '../run/link.ts';
import type { GeneratorHost } from '../run/measurements/generator-measured.ts';
import { Measurements } from '../run/measurements/measurements.ts';
import { scenarioFile, scenarioName } from '../run/measurements/run-id.ts';
import { openResources } from '../run/open-resources.ts';
import { resultWithin } from '../run/wait.ts';
import { cpuProfileText, heapProfileText } from '../samplers/index.ts';
import type { Script } from '../script/script.ts';
import type { Settings } from '../script/settings.ts';
import { collectMissingMeasurements, earlyEnd, earlyEndByError, toCapacityError } from './incomplete.ts';
import { logResult, logToTerminal, openProgress, type RunTerminal } from './terminal.ts';

interface MeasuredRunOptions {
  script: Script;
  config: Settings;
  scriptPath: string | undefined;
  /** Connection to the engines. The run closes it. */
  link: EngineLink;
  /** Returns the current state of the generator hosts; undefined if this host alone generates the load. */
  hosts?: () => GeneratorHost[];
  terminal: RunTerminal;
  artilleryVersion: string;
  /**
   * Checks whether the run may start. Called before any resource is opened.
   * @throws CapacityError that ends the run
   */
  admit(): Promise<void>;
  /** Shuts the process down, which calls `report` and `close`. Called at most once. */
  end(exitCode: number): Promise<void>;
  /** Evaluates the thresholds of a completed run; undefined if Artillery evaluates them. */
  evaluate?: ((result: Result) => Result['thresholds']) | undefined;
  /** Names of the files that the caller writes into the run's folder. */
  files?: string[];
}

/** Time limit for the current measurement to end after the run was stopped, in milliseconds. */
const STOP_TIMEOUT_MS = 5000;
const REST_TIMEOUT_MS = 120_000;

/** State of a run after the target has answered. */
interface PreparedRun {
  context: RunContext;
  conductor: Conductor;
  environment: Result['environment'];
  live: ReturnType<typeof openProgress>;
  view: LiveView | undefined;
}

export class MeasuredRun {
  readonly #options: MeasuredRunOptions;
  /** Measurements of the run. The caller adds facts that only the caller observes. */
  readonly measurements: Measurements;
  #ended: CommandOutcome = 'failed';
  readonly #folder: RunFolder;
  readonly #closers = new ResourceClosers((error) => console.error(describeError(error)));
  readonly #abort = new AbortController();
  #prepared: PreparedRun | undefined;
  #refused = false;
  #started = false;
  /** Phase events that are not handled yet. They can arrive faster than the run handles them. */
  #queue: Promise<void> = Promise.resolve();

  /**
   * Creates the run and its folder.
   * @throws CapacityError FILE_UNWRITABLE; no resources are open then
   */
  constructor(options: MeasuredRunOptions) {
    const { config, scriptPath, link } = options;
    this.#options = options;
    this.measurements = new Measurements(scenarioName(scriptPath ?? 'scenario'), config);
    if (scriptPath !== undefined) this.measurements.file = scenarioFile(scriptPath);
    this.#folder = new RunFolder(config.results, this.measurements.id);
    this.measurements.id = this.#folder.id;
    this.measurements.hosts = options.hosts?.();
    this.#folder.files.onFailed = (error) => this.end(error);
    this.#closers.add(() => link.close());
    link.onFailed = ({ code, message, fix }) => void this.#refuse(new CapacityError(code, message, fix));
    // Artillery can handle a shutdown only after it has created all plugins.
    void setImmediate().then(() => this.#prepare().catch((error) => this.#refuse(error)));
  }

  /** Exit code of the run. Until `report` has written a result, it is the exit code of a failed run. */
  get exitCode(): number {
    return exitCodeOfOutcome(this.#ended);
  }

  get hasResult(): boolean {
    return typeof this.#ended === 'object';
  }

  /** Names of the files in the run's folder. */
  get files(): RunFiles {
    return this.#folder.files;
  }

  /** The current result; undefined before the target has answered. */
  get result(): Result | undefined {
    return this.#prepared && this.#result(this.#prepared);
  }

  /** Ends the run with an error. After the load has begun, keeps the measurements so far. */
  end(error: CapacityError): void {
    if (this.#started) this.#fail(error);
    else void this.#refuse(error);
  }

  phaseStarted(index: number): void {
    const beganAtUs = monotonicUs();
    this.#enqueue(({ conductor }) => conductor.phaseStarted(index, beganAtUs));
  }

  /** Called after the last phase. Runs the remaining measurements. */
  phasesCompleted(): void {
    this.#enqueue(async ({ conductor, live }) => {
      await conductor.finale();
      live?.close();
      this.#options.link.tell({ type: 'finish' });
    });
  }

  /**
   * Writes the result and prints it, after Artillery's summary or instead of it. Never rejects.
   * @param earlyStop whether the user pressed Ctrl-C, or this run ended itself early
   */
  async report(earlyStop: boolean): Promise<void> {
    const prepared = this.#prepared;
    // From now on, a failed write does not end the run; #publish reports it.
    this.files.onFailed = () => {};
    if (this.#refused) return;
    if (!prepared) {
      // Aborts first, so that resources that are still being opened report no error.
      this.#abort.abort();
      this.#ended = earlyStop ? 'stopped' : 'refused';
      logToTerminal(this.#options.terminal, `${earlyStop ? 'Stopped' : 'Ended'} before anything was measured.`);
      this.#folder.discard();
      return;
    }
    try {
      // Artillery ends after its last virtual user, while the run may still measure memory or take CPU profiles.
      if (!earlyStop && prepared.conductor.released) await resultWithin(this.#queue, REST_TIMEOUT_MS);
      if (earlyStop || prepared.conductor.stage !== 'done') await this.#stop(prepared, earlyStop);
      prepared.live?.close();
      // Waits until the next turn of the event loop, because `ensure` evaluates its thresholds at the same time.
      await setImmediate();
      const { evaluate } = this.#options;
      if (evaluate && !earlyStop) this.measurements.thresholds = evaluate(this.#result(prepared));
      await this.#publish(prepared, this.#result(prepared));
    } catch (error) {
      reportFatalError(error);
    }
  }

  /** Closes all resources, even if some of them fail to close. Idempotent. */
  async close(): Promise<void> {
    this.#abort.abort();
    await this.#closers.close();
  }

  async #prepare(): Promise<void> {
    const { script, config, link, terminal, artilleryVersion } = this.#options;
    await this.#options.admit();
    const { context, target, workers } = await openResources({
      ...this.#options,
      measurements: this.measurements,
      closers: this.#closers,
      signal: this.#abort.signal,
      log: (text) => logToTerminal(terminal, text),
    });
    const settings = resultSettings(script, config, target);
    const environment = describeEnvironment(settings, workers, artilleryVersion);
    const conductor = new Conductor(context);
    const view = await openLiveView(config.livePort, conductor, context, this.#options.hosts);
    if (view) {
      this.#closers.add(() => view.close());
      logToTerminal(terminal, `Live view: ${view.url}`);
    }
    const live = openProgress(terminal, createLiveFactsReader(conductor, context));
    this.#prepared = { context, conductor, environment, live, view };
    conductor.onStage = () => this.#save();
    this.#closers.add(() => live?.close());
    this.#save();
    await conductor.prepare();
    this.#save();
    this.#started = true;
    link.start();
  }

  /** Writes the result in all formats, prints it, and sets the exit code of the run. */
  async #publish({ view }: PreparedRun, result: Result): Promise<void> {
    const path = this.#folder.write(result);
    const { directory } = this.#folder;
    // The chart library is loaded here, because it would use memory in every Artillery thread if it were loaded
    // earlier.
    const { writeReportFiles } = await import('../result/report-files.ts');
    const { written, failed } = writeReportFiles(result, directory);
    const { terminal, files = [] } = this.#options;
    logResult(terminal, result, path, [...written, ...this.#writeProfiles(), ...files]);
    // On a full disk, every file fails, so only the first error is reported.
    const failure = this.files.failure ?? failed[0];
    if (failure) reportFatalError(failure);
    this.#ended = failure ? 'failed' : { verdict: result.verdict.status, outcome: result.outcome.status };
    await view?.finish(written.includes('report.html') ? join(directory, 'report.html') : undefined);
  }

  /**
   * Writes the CPU profiles.
   * @returns the names of the files
   */
  #writeProfiles(): string[] {
    const { heapProfiles, cpuProfiles = {} } = this.measurements;
    const { connect, copy } = cpuProfiles;
    const all: [string, V8Profile[] | Error | undefined, (profiles: V8Profile[]) => string][] = [
      ['connections.heapprofile', heapProfiles, heapProfileText],
      ['connects.cpuprofile', connect?.profiles, cpuProfileText],
      ['copies.cpuprofile', copy?.profiles, cpuProfileText],
    ];
    return all.flatMap(([name, profiles, textOf]) => {
      const isKnown = Array.isArray(profiles) && profiles.length > 0;
      return isKnown && this.files.replace(name, textOf(profiles)) ? [name] : [];
    });
  }

  /** Handles phase events one after the other. If a handler fails, the run ends. */
  #enqueue(handle: (prepared: PreparedRun) => Promise<void>): void {
    this.#queue = this.#queue
      .then(async () => {
        if (this.#prepared && !this.#abort.signal.aborted) await handle(this.#prepared);
      })
      .catch((error) => this.#fail(error));
  }

  /** Ends a run with an error after its load has begun, and keeps the measurements so far. */
  #fail(error: unknown): void {
    if (this.#abort.signal.aborted) return;
    this.measurements.aborted = earlyEndByError(this.#prepared?.conductor.stage, error);
    // The end is not awaited, because the shutdown waits for the queue in which this function runs.
    void this.#options.end(exitCodeOfOutcome('failed'));
  }

  /** Ends a run before its load: prints the error, deletes the folder, and ends the process. */
  async #refuse(error: unknown): Promise<void> {
    if (this.#refused || this.#abort.signal.aborted) {
      // Prints the error even after Ctrl-C, because the user must end the processes that it names.
      if (error instanceof CapacityError && error.code === 'STACK_STUCK') console.error(describeError(error));
      return;
    }
    this.#refused = true;
    this.#ended = 'refused';
    await this.close();
    this.#folder.discard();
    reportFatalError(toCapacityError(error));
    await this.#options.end(this.exitCode);
  }

  /** Ends the current measurement, and collects the measurements that the result still lacks. */
  async #stop({ conductor, context }: PreparedRun, earlyStop: boolean): Promise<void> {
    const { measurements, population } = context;
    measurements.stoppedByUser = earlyStop && measurements.aborted === undefined;
    measurements.aborted ??= earlyEnd(conductor.stage, earlyStop ? 'stopped' : 'left');
    measurements.peakConnections = Math.max(measurements.peakConnections, population.connections());
    this.#abort.abort();
    await resultWithin(this.#queue, STOP_TIMEOUT_MS);
    await collectMissingMeasurements(conductor, context);
  }

  /** Writes a result with the cause `killed`, so that the measurements so far survive if the process is killed. */
  #save(): void {
    if (!this.#prepared || this.#prepared.conductor.stage === 'done') return;
    const aborted = this.measurements.aborted ?? earlyEnd(this.#prepared.conductor.stage, 'killed');
    this.#folder.write(this.#result(this.#prepared, { ...this.measurements, aborted }));
  }

  #result({ environment, context }: PreparedRun, measurements = this.measurements): Result {
    measurements.hosts = this.#options.hosts?.();
    return concludeRun(measurements, this.#options.config, environment, context.sampler);
  }
}
