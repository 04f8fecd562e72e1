/** One measured run, from Artillery's start to its end: owns everything the hook opens. */
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { openThreadCarrier } from '../../protocol/carrier.ts';
import { EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import type { Reason } from '../../protocol/codes/verdict-reasons.ts';
import { CapacityError, describeError } from '../../protocol/errors.ts';
import type { Result } from '../../protocol/result/result.ts';
import { requireFit } from '../doctor/diagnosis.ts';
import { requireOpenFiles } from '../doctor/preflight.ts';
import { STEPS } from '../engine/steps/index.ts';
import { liveFacts } from '../live/live-facts.ts';
import type { LiveView } from '../live/server.ts';
import type { LiveLine } from '../live/terminal-line.ts';
import { assembleResult } from '../result/assemble.ts';
import { describeEnvironment, settingsOf } from '../result/environment.ts';
import { Closers } from '../run/closers.ts';
import { Conductor } from '../run/conductor.ts';
import type { RunContext } from '../run/context.ts';
import { EngineLink } from '../run/link.ts';
import { type Measurements, newMeasurements, scenarioName } from '../run/measurements.ts';
import { RunRecord } from '../run/record/record.ts';
import { openResources } from '../run/resources.ts';
import { succeed, within } from '../run/wait.ts';
import type { Script } from '../script/script.ts';
import { readSettings, type Settings } from '../script/settings.ts';
import { type ArtilleryEvents, artillery, replacePhases, tuneWorkerHeaps } from './artillery.ts';
import { addMetrics } from './metrics.ts';
import { log, logResult, openLiveLine } from './terminal.ts';

export interface RunOptions {
  scriptPath?: string;
}

/** For the current measurement to notice that the run has been stopped. */
const STOP_TIMEOUT_MS = 5000;
const RESIDUAL_TIMEOUT_MS = 60_000;
/** For a worker that died to be restarted, so that the result can name it. */
const RESTART_TIMEOUT_MS = 5000;

/** What exists once the target has answered. */
interface PreparedRun {
  context: RunContext;
  conductor: Conductor;
  environment: Result['environment'];
  live: LiveLine | undefined;
  view: LiveView | undefined;
}

export class Run {
  readonly #script: Script;
  readonly #config: Settings;
  readonly #measurements: Measurements;
  readonly #link: EngineLink;
  readonly #record: RunRecord;
  readonly #closers = new Closers((error) => console.error(describeError(error)));
  readonly #abort = new AbortController();
  #prepared: PreparedRun | undefined;
  #refused = false;
  #exitCode = 0;
  /** Phase events can arrive faster than they are handled, so they wait in a queue. */
  #queue: Promise<void> = Promise.resolve();

  /** @throws CapacityError for invalid settings, with nothing left open */
  constructor(script: Script, events: ArtilleryEvents, { scriptPath }: RunOptions) {
    requireOpenFiles();
    this.#script = script;
    this.#config = readSettings(script, STEPS, process.env);
    const { phases, results } = this.#config;
    this.#measurements = newMeasurements(scenarioName(scriptPath ?? 'scenario'), this.#config);
    this.#record = new RunRecord(results, this.#measurements.id);
    this.#measurements.id = this.#record.id;
    replacePhases(phases);
    // A third-party engine is measured with its own settings.
    if (!this.#config.external) tuneWorkerHeaps();
    this.#link = new EngineLink(openThreadCarrier(artillery().testRunId));
    this.#closers.add(() => this.#link.close());
    this.#link.onFailed = ({ code, message, fix }) => void this.#refuse(new CapacityError(code, message, fix));
    events.on('phaseStarted', ({ index }) => this.#then(({ conductor }) => conductor.phaseStarted(index)));
    events.on('phaseCompleted', ({ index }) => {
      if (index === phases.length - 1) this.#then((prepared) => this.#finale(prepared));
    });
    artillery().globalEvents.on('checks', (checks) => {
      this.#measurements.thresholds = checks.map(({ original, result, strict }) => ({
        expression: original,
        met: result === 1,
        strict,
      }));
    });
    // Artillery's totals come only at the end, and a run that is stopped has none.
    events.on('stats', ({ counters }) => {
      this.#measurements.skippedUsers += counters['vusers.skipped'] ?? 0;
    });
    events.on('done', (stats) => {
      this.#measurements.skippedUsers = stats.counters['vusers.skipped'] ?? 0;
      if (this.#prepared) addMetrics(stats, this.#result(this.#prepared));
    });
    // Artillery creates the plugins before it is ready for a shutdown.
    void setImmediate().then(() => this.#prepare().catch((error) => this.#refuse(error)));
  }

  /**
   * Writes the result and prints it, after Artillery's own summary or in its place.
   * @param earlyStop after Ctrl-C, or if this run has requested the end
   */
  async report(earlyStop: boolean): Promise<void> {
    const prepared = this.#prepared;
    if (this.#refused) return;
    if (!prepared) {
      log('Stopped before anything was measured.');
      this.#record.discard();
      return;
    }
    try {
      // Artillery ends with its last virtual user, even if the residual is still being measured.
      if (!earlyStop && prepared.conductor.released) await within(this.#queue, RESIDUAL_TIMEOUT_MS);
      if (earlyStop || prepared.conductor.stage !== 'done') await this.#stop(prepared, earlyStop);
      prepared.live?.close();
      // Artillery calls `beforeExit` of all plugins at once; after this turn `ensure` has evaluated its thresholds.
      await setImmediate();
      await this.#publish(prepared, this.#result(prepared));
    } catch (error) {
      console.error(describeError(error));
      this.#exitCode = EXIT_CODES.invalid;
    }
  }

  /** Closes everything, even if some of it fails to close. Idempotent. */
  async close(): Promise<void> {
    this.#abort.abort();
    await this.#closers.close();
  }

  /** To be called after all plugins have reported, since others set the exit code, too. */
  setExitCode(earlyStop: boolean): void {
    const run = artillery();
    // A stop has its own exit code. Invalid figures take precedence over thresholds, which are evaluated on them.
    if (earlyStop || this.#exitCode === 0) return;
    if (this.#exitCode === EXIT_CODES.invalid || !run.suggestedExitCode) run.suggestedExitCode = this.#exitCode;
  }

  async #prepare(): Promise<void> {
    const [measurements, config, record, link] = [this.#measurements, this.#config, this.#record, this.#link];
    await requireFit(config, log);
    const { context, target, workers } = await openResources({
      config,
      measurements,
      record,
      link,
      closers: this.#closers,
      signal: this.#abort.signal,
      log,
    });
    const settings = settingsOf(this.#script, config, target);
    const environment = describeEnvironment(settings, workers, artillery().version);
    const conductor = new Conductor(context);
    const view = await this.#openView(conductor, context);
    const live = openLiveLine(liveFacts(conductor, context));
    this.#prepared = { context, conductor, environment, live, view };
    conductor.onStage = () => this.#save();
    this.#closers.add(() => live?.close());
    this.#save();
    await conductor.prepare();
    this.#save();
    link.start();
  }

  async #openView(conductor: Conductor, context: RunContext): Promise<LiveView | undefined> {
    const { livePort } = this.#config;
    if (livePort === undefined) return undefined;
    const { openLiveView } = await import('../live/open.ts');
    const view = await openLiveView(livePort, conductor, context);
    this.#closers.add(() => view.close());
    log(`Live view: ${view.url}`);
    return view;
  }

  /** Writes the result in all its forms, and prints it. */
  async #publish({ view }: PreparedRun, result: Result): Promise<void> {
    const path = this.#record.write(result);
    const { directory } = this.#record;
    // Imported late: the chart library is large, and would take memory in every Artillery thread.
    const { writeReportFiles } = await import('../result/report-files.ts');
    const { written, failed } = writeReportFiles(result, directory);
    logResult(result, path, written);
    for (const error of failed) console.error(describeError(error));
    this.#exitCode = exitCodeOf(result);
    await view?.finish(written.includes('report.html') ? join(directory, 'report.html') : undefined);
  }

  async #finale({ conductor, live }: PreparedRun): Promise<void> {
    await conductor.finale();
    live?.close();
    this.#link.tell({ type: 'finish' });
  }

  /** Handles Artillery's events one after the other; an error ends the run. */
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
    const message = `${this.#prepared?.conductor.stage}: ${error instanceof Error ? error.message : String(error)}`;
    this.#measurements.aborted = {
      code: 'RUN_INCOMPLETE',
      message,
      ...(error instanceof CapacityError && { fix: error.fix }),
    };
    try {
      this.#record.append('aborted', this.#measurements.aborted);
    } catch {
      // The disk may be the very reason for the abort; the report shows it.
    }
    // Not awaited: the shutdown waits for the queue that this is part of.
    void artillery().shutdown({ earlyStop: true, exitCode: EXIT_CODES.invalid });
  }

  /** Before the load: prints the error, and ends Artillery. Leaves no files. */
  async #refuse(error: unknown): Promise<void> {
    if (this.#refused || this.#abort.signal.aborted) return;
    this.#refused = true;
    await this.close();
    this.#record.discard();
    console.error(`\n${describeError(error)}\n`);
    await artillery().shutdown({ earlyStop: true, exitCode: EXIT_CODES.refused });
  }

  /** Ends the current measurement, and collects what is known so far. */
  async #stop({ conductor, context }: PreparedRun, earlyStop: boolean): Promise<void> {
    const { measurements, control, link, population } = context;
    measurements.aborted ??= earlyStop
      ? { code: 'RUN_INCOMPLETE', message: `stopped by the user (stage: ${conductor.stage})` }
      : {
          code: 'RUN_INCOMPLETE',
          message: `the virtual users left before the end of the measurement (stage: ${conductor.stage})`,
          fix: 'keep them connected until then: end the flow with `hold: true`',
        };
    measurements.peakConnections = Math.max(measurements.peakConnections, population.connections());
    this.#abort.abort();
    await within(this.#queue, STOP_TIMEOUT_MS);
    await succeed(() => conductor.stopped(), STOP_TIMEOUT_MS);
    if (measurements.snapshots.length === 0)
      measurements.snapshots = (await within(link.snapshots(), STOP_TIMEOUT_MS)) ?? [];
    if (measurements.workersAtEnd.length === 0) {
      const workers = await succeed(() => control.stats(), RESTART_TIMEOUT_MS);
      measurements.workersAtEnd = workers?.map(({ worker, pid }) => ({ worker, pid })) ?? [];
    }
  }

  /** Writes a result as if the run ended here, so that the measurements survive if the process is killed. */
  #save(): void {
    if (!this.#prepared || this.#prepared.conductor.stage === 'done') return;
    const { conductor } = this.#prepared;
    const killed: Reason = {
      code: 'RUN_INCOMPLETE',
      message: `the run was killed, or is still in progress (stage: ${conductor.stage})`,
    };
    this.#record.write(
      this.#result(this.#prepared, { ...this.#measurements, aborted: this.#measurements.aborted ?? killed }),
    );
  }

  #result({ environment, context }: PreparedRun, measurements = this.#measurements): Result {
    return assembleResult(measurements, this.#config, environment, context.sampler);
  }
}

function exitCodeOf({ verdict }: Result): number {
  if (verdict.status === 'VALID') return 0;
  return verdict.status === 'SUSPECT' ? EXIT_CODES.suspect : EXIT_CODES.invalid;
}
