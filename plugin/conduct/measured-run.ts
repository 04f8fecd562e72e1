/** One measured run, from its settings to its result, files and exit code: owns everything that it opens. */
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { reportError } from '../../protocol/base/ended-by.ts';
import { CapacityError, describeError } from '../../protocol/codes/errors.ts';
import { type Ended, exitCodeOf } from '../../protocol/codes/exit-codes.ts';
import type { Result } from '../../protocol/result/result.ts';
import { concludeRun } from '../findings/conclude.ts';
import { liveFacts } from '../live/live-facts.ts';
import type { LiveView } from '../live/live-server.ts';
import { openLiveView } from '../live/open-live-view.ts';
import { describeEnvironment, settingsOf } from '../result/assemble-environment.ts';
import { Closers } from '../run/closers.ts';
import { Conductor } from '../run/conductor.ts';
import type { RunContext } from '../run/context.ts';
import type { RunFiles } from '../run/folder/run-files.ts';
import { RunFolder } from '../run/folder/run-folder.ts';
import type { EngineLink } from '../run/link.ts';
import type { GeneratorHost } from '../run/measurements/generator-measured.ts';
import { Measurements } from '../run/measurements/measurements.ts';
import { scenarioFile, scenarioName } from '../run/measurements/run-id.ts';
import { openResources } from '../run/open-resources.ts';
import { within } from '../run/wait.ts';
import { heapProfileText } from '../samplers/index.ts';
import type { Script } from '../script/script.ts';
import type { Settings } from '../script/settings.ts';
import { askForTheRest, endedIn, failedIn, withCode } from './incomplete.ts';
import { log, logResult, openProgress, type Terminal } from './terminal.ts';

interface MeasuredRunOptions {
  script: Script;
  config: Settings;
  scriptPath: string | undefined;
  /** To the engines; the run closes it. */
  link: EngineLink;
  /** What is known now of the hosts that bring the load; undefined if this one does. */
  hosts?: () => GeneratorHost[];
  terminal: Terminal;
  artilleryVersion: string;
  /** Before anything is opened. @throws CapacityError that ends the run */
  admit(): Promise<void>;
  /** Ends the process in an orderly way, which calls `report` and `close`; to be called at most once. */
  end(exitCode: number): Promise<void>;
  /** Evaluates the thresholds of a run that has come to its end, where Artillery does not. */
  evaluate?: ((result: Result) => Result['thresholds']) | undefined;
  /** Files in the run's folder of whoever conducts it. */
  files?: string[];
}

/** For the current measurement to notice that the run has been stopped. */
const STOP_TIMEOUT_MS = 5000;
const RESIDUAL_TIMEOUT_MS = 60_000;
const HEAP_PROFILE = 'connections.heapprofile';

/** What exists once the target has answered. */
interface PreparedRun {
  context: RunContext;
  conductor: Conductor;
  environment: Result['environment'];
  live: ReturnType<typeof openProgress>;
  view: LiveView | undefined;
}

export class MeasuredRun {
  readonly #options: MeasuredRunOptions;
  /** Whoever sees more of the run than its conductor adds it here. */
  readonly measurements: Measurements;
  #ended: Ended = 'failed';
  readonly #folder: RunFolder;
  readonly #closers = new Closers((error) => console.error(describeError(error)));
  readonly #abort = new AbortController();
  #prepared: PreparedRun | undefined;
  #refused = false;
  #started = false;
  /** Phase events can arrive faster than they are handled, so they wait in a queue. */
  #queue: Promise<void> = Promise.resolve();

  /** @throws CapacityError FILE_UNWRITABLE, with nothing left open */
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
    // Artillery creates the plugins before it is ready for a shutdown.
    void setImmediate().then(() => this.#prepare().catch((error) => this.#refuse(error)));
  }

  /** Of a run that has not ended, that of one without a result. */
  get exitCode(): number {
    return exitCodeOf(this.#ended);
  }

  /** Whether `report` has written a result. */
  get hasResult(): boolean {
    return typeof this.#ended === 'object';
  }

  /** Writes into the run's own folder. */
  get files(): RunFiles {
    return this.#folder.files;
  }

  /** The result as it is now; undefined before the target has answered. */
  get result(): Result | undefined {
    return this.#prepared && this.#result(this.#prepared);
  }

  /** Before the load: the run cannot take place. After it has begun: it ends with what was measured. */
  end(error: CapacityError): void {
    if (this.#started) this.#fail(error);
    else void this.#refuse(error);
  }

  phaseStarted(index: number): void {
    this.#then(({ conductor }) => conductor.phaseStarted(index));
  }

  /** The last phase is over. */
  phasesCompleted(): void {
    this.#then(async ({ conductor, live }) => {
      await conductor.finale();
      live?.close();
      this.#options.link.tell({ type: 'finish' });
    });
  }

  /**
   * Writes the result and prints it, after Artillery's own summary or in its place. Never rejects.
   * @param earlyStop after Ctrl-C, or if this run has requested the end
   */
  async report(earlyStop: boolean): Promise<void> {
    const prepared = this.#prepared;
    // From here on, what cannot be written is printed at the end.
    this.files.onFailed = () => {};
    if (this.#refused) return;
    if (!prepared) {
      // What is still being opened has no error to report.
      this.#abort.abort();
      this.#ended = earlyStop ? 'stopped' : 'refused';
      log(this.#options.terminal, `${earlyStop ? 'Stopped' : 'Over'} before anything was measured.`);
      this.#folder.discard();
      return;
    }
    try {
      // Artillery ends with its last virtual user, even if the residual is still being measured.
      if (!earlyStop && prepared.conductor.released) await within(this.#queue, RESIDUAL_TIMEOUT_MS);
      if (earlyStop || prepared.conductor.stage !== 'done') await this.#stop(prepared, earlyStop);
      prepared.live?.close();
      // Artillery calls `beforeExit` of all plugins at once; after this turn `ensure` has evaluated its thresholds.
      await setImmediate();
      const { evaluate } = this.#options;
      if (evaluate && !earlyStop) this.measurements.thresholds = evaluate(this.#result(prepared));
      await this.#publish(prepared, this.#result(prepared));
    } catch (error) {
      reportError(error);
    }
  }

  /** Closes everything, even if some of it fails to close. Idempotent. */
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
      log: (text) => log(terminal, text),
    });
    const settings = settingsOf(script, config, target);
    const environment = describeEnvironment(settings, workers, artilleryVersion);
    const conductor = new Conductor(context);
    const view = await openLiveView(config.livePort, conductor, context, this.#options.hosts);
    if (view) {
      this.#closers.add(() => view.close());
      log(terminal, `Live view: ${view.url}`);
    }
    const live = openProgress(terminal, liveFacts(conductor, context));
    this.#prepared = { context, conductor, environment, live, view };
    conductor.onStage = () => this.#save();
    this.#closers.add(() => live?.close());
    this.#save();
    await conductor.prepare();
    this.#save();
    this.#started = true;
    link.start();
  }

  /** Writes the result in all its forms, and prints it. */
  async #publish({ view }: PreparedRun, result: Result): Promise<void> {
    const path = this.#folder.write(result);
    const { directory } = this.#folder;
    // Imported late: the chart library is large, and would take memory in every Artillery thread.
    const { writeReportFiles } = await import('../result/report-files.ts');
    const { written, failed } = writeReportFiles(result, directory);
    const { terminal, files = [] } = this.#options;
    logResult(terminal, result, path, [...written, ...this.#writeProfile(), ...files]);
    // A full disk fails all of them: the first one tells why.
    const failure = this.files.failure ?? failed[0];
    if (failure) reportError(failure);
    this.#ended = failure ? 'failed' : { verdict: result.verdict.status, outcome: result.outcome.status };
    await view?.finish(written.includes('report.html') ? join(directory, 'report.html') : undefined);
  }

  /** @returns the name of the file, if there is one */
  #writeProfile(): string[] {
    const { heapProfiles } = this.measurements;
    if (!Array.isArray(heapProfiles) || heapProfiles.length === 0) return [];
    return this.files.replace(HEAP_PROFILE, heapProfileText(heapProfiles)) ? [HEAP_PROFILE] : [];
  }

  /** Handles the events of the phases one after the other; an error ends the run. */
  #then(handle: (prepared: PreparedRun) => Promise<void>): void {
    this.#queue = this.#queue
      .then(async () => {
        if (this.#prepared && !this.#abort.signal.aborted) await handle(this.#prepared);
      })
      .catch((error) => this.#fail(error));
  }

  /** After the load has begun: keeps the measurements so far, and ends the run. */
  #fail(error: unknown): void {
    if (this.#abort.signal.aborted) return;
    this.measurements.aborted = failedIn(this.#prepared?.conductor.stage, error);
    // Not awaited: the shutdown waits for the queue that this is part of.
    void this.#options.end(exitCodeOf('failed'));
  }

  /** Before the load: prints the error, and ends the process. Leaves no files. */
  async #refuse(error: unknown): Promise<void> {
    if (this.#refused || this.#abort.signal.aborted) {
      // Also after Ctrl-C: nothing else would ever end these processes.
      if (error instanceof CapacityError && error.code === 'STACK_STUCK') console.error(describeError(error));
      return;
    }
    this.#refused = true;
    this.#ended = 'refused';
    await this.close();
    this.#folder.discard();
    reportError(withCode(error));
    await this.#options.end(this.exitCode);
  }

  /** Ends the current measurement, and collects what is known so far. */
  async #stop({ conductor, context }: PreparedRun, earlyStop: boolean): Promise<void> {
    const { measurements, population } = context;
    measurements.stoppedByUser = earlyStop && measurements.aborted === undefined;
    measurements.aborted ??= endedIn(conductor.stage, earlyStop ? 'stopped' : 'left');
    measurements.peakConnections = Math.max(measurements.peakConnections, population.connections());
    this.#abort.abort();
    await within(this.#queue, STOP_TIMEOUT_MS);
    await askForTheRest(conductor, context);
  }

  /** Writes a result as if the run ended here, so that the measurements survive if the process is killed. */
  #save(): void {
    if (!this.#prepared || this.#prepared.conductor.stage === 'done') return;
    const aborted = this.measurements.aborted ?? endedIn(this.#prepared.conductor.stage, 'killed');
    this.#folder.write(this.#result(this.#prepared, { ...this.measurements, aborted }));
  }

  #result({ environment, context }: PreparedRun, measurements = this.measurements): Result {
    measurements.hosts = this.#options.hosts?.();
    return concludeRun(measurements, this.#options.config, environment, context.sampler);
  }
}
