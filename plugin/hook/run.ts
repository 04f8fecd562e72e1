/** One measured run, from Artillery's start to its end: owns everything the hook opens. */
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { openThreadCarrier } from '../../protocol/carrier.ts';
import { CapacityError, describeError } from '../../protocol/errors.ts';
import { EXIT_CODES } from '../../protocol/exit-codes.ts';
import type { Result } from '../../protocol/result.ts';
import type { Reason } from '../../protocol/verdict-reasons.ts';
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
import { RunRecord } from '../run/record.ts';
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

/** For a measurement under way to notice that the run has been stopped. */
const STOP_TIMEOUT_MS = 5000;
const RESIDUAL_TIMEOUT_MS = 30_000;
/** For a worker that died to be back, so that the result can name it. */
const RESTART_TIMEOUT_MS = 5000;

/** What there is once the target has answered. */
interface Opened {
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
  #opened: Opened | undefined;
  #refused = false;
  #exitCode = 0;
  /** Phase events come faster than they can be handled; they are handled one after the other. */
  #queue: Promise<void> = Promise.resolve();

  /** @throws CapacityError for settings that cannot work; nothing is open then */
  constructor(script: Script, events: ArtilleryEvents, { scriptPath }: RunOptions) {
    requireOpenFiles();
    this.#script = script;
    this.#config = readSettings(script, STEPS, process.env);
    const { phases, results } = this.#config;
    this.#measurements = newMeasurements(scenarioName(scriptPath ?? 'scenario'), this.#config);
    this.#record = new RunRecord(results, this.#measurements.id);
    replacePhases(phases);
    // Another engine is measured as it is.
    if (!this.#config.external) tuneWorkerHeaps();
    this.#link = new EngineLink(openThreadCarrier(artillery().testRunId));
    this.#closers.add(() => this.#link.close());
    this.#link.onFailed = ({ code, message, fix }) => void this.#refuse(new CapacityError(code, message, fix));
    events.on('phaseStarted', ({ index }) => this.#then(({ conductor }) => conductor.phaseStarted(index)));
    events.on('phaseCompleted', ({ index }) => {
      if (index === phases.length - 1) this.#then((opened) => this.#finale(opened));
    });
    artillery().globalEvents.on('checks', (checks) => {
      this.#measurements.thresholds = checks.map(({ original, result, strict }) => ({
        expression: original,
        met: result === 1,
        strict,
      }));
    });
    events.on('done', (stats) => {
      if (this.#opened) addMetrics(stats, this.#result(this.#opened));
    });
    // Artillery builds the plugins before it has set itself up to be shut down.
    void setImmediate().then(() => this.#prepare().catch((error) => this.#refuse(error)));
  }

  /**
   * After Artillery's own summary, or instead of it: writes the result and prints it.
   * @param earlyStop Ctrl-C, or an end that this run has asked for
   */
  async report(earlyStop: boolean): Promise<void> {
    const opened = this.#opened;
    if (this.#refused) return;
    if (!opened) {
      log('Stopped before anything was measured.');
      this.#record.discard();
      return;
    }
    try {
      // Stock engines end with their last virtual user, while we still measure what they left behind.
      if (!earlyStop && opened.conductor.released) await within(this.#queue, RESIDUAL_TIMEOUT_MS);
      if (earlyStop || opened.conductor.stage !== 'done') await this.#stop(opened, earlyStop);
      opened.live?.close();
      // Artillery asks all plugins for their last word at once: `ensure` has evaluated when it is our turn again.
      await setImmediate();
      await this.#publish(opened, this.#result(opened));
    } catch (error) {
      console.error(describeError(error));
      this.#exitCode = EXIT_CODES.invalid;
    }
  }

  /** Idempotent. Every part gets its chance, whatever happens to the others. */
  async close(): Promise<void> {
    this.#abort.abort();
    await this.#closers.close();
  }

  /** To be called when all reports are out, since others set the exit code, too. */
  setExitCode(earlyStop: boolean): void {
    const run = artillery();
    // A stop has its own exit code; figures that cannot be trusted go before thresholds, which are evaluated by them.
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
    this.#opened = { context, conductor, environment, live, view };
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

  /** The result in all its forms. */
  async #publish({ view }: Opened, result: Result): Promise<void> {
    const path = this.#record.write(result);
    const { directory } = this.#record;
    // Not before: what draws the charts is large, and would be in the memory of every Artillery thread.
    const { writeReportFiles } = await import('../result/report-files.ts');
    const { written, failed } = writeReportFiles(result, directory);
    logResult(result, path, written);
    for (const error of failed) console.error(describeError(error));
    this.#exitCode = exitCodeOf(result);
    await view?.finish(written.includes('report.html') ? join(directory, 'report.html') : undefined);
  }

  async #finale({ conductor, live }: Opened): Promise<void> {
    await conductor.finale();
    live?.close();
    this.#link.tell({ type: 'finish' });
  }

  /** Handles an event of Artillery's after those before it; what goes wrong ends the run. */
  #then(handle: (opened: Opened) => Promise<void>): void {
    this.#queue = this.#queue
      .then(async () => {
        if (this.#opened && !this.#abort.signal.aborted) await handle(this.#opened);
      })
      .catch((error) => this.#fail(error));
  }

  /** After the load began: keeps what there is, and ends the run. */
  #fail(error: unknown): void {
    if (this.#abort.signal.aborted) return;
    const message = `${this.#opened?.conductor.stage}: ${error instanceof Error ? error.message : String(error)}`;
    this.#measurements.aborted = {
      code: 'RUN_INCOMPLETE',
      message,
      ...(error instanceof CapacityError && { fix: error.fix }),
    };
    this.#record.append('aborted', this.#measurements.aborted);
    // Not awaited: the shutdown waits for the queue that this is part of.
    void artillery().shutdown({ earlyStop: true, exitCode: EXIT_CODES.invalid });
  }

  /** Before the load: says why, and ends Artillery. Nothing is left but the message. */
  async #refuse(error: unknown): Promise<void> {
    if (this.#refused || this.#abort.signal.aborted) return;
    this.#refused = true;
    await this.close();
    this.#record.discard();
    console.error(`\n${describeError(error)}\n`);
    await artillery().shutdown({ earlyStop: true, exitCode: EXIT_CODES.refused });
  }

  /** Ends the measurement under way, and collects what is known so far. */
  async #stop({ conductor, context }: Opened, earlyStop: boolean): Promise<void> {
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
    if (measurements.snapshots.length === 0)
      measurements.snapshots = (await within(link.snapshots(), STOP_TIMEOUT_MS)) ?? [];
    if (measurements.workersAtEnd.length === 0) {
      const workers = await succeed(() => control.stats(), RESTART_TIMEOUT_MS);
      measurements.workersAtEnd = workers?.map(({ worker, pid }) => ({ worker, pid })) ?? [];
    }
  }

  /** As if the run ended here, so that whatever kills it leaves what was measured until then. */
  #save(): void {
    if (!this.#opened || this.#opened.conductor.stage === 'done') return;
    const { conductor } = this.#opened;
    const killed: Reason = {
      code: 'RUN_INCOMPLETE',
      message: `the run was killed, or is still in progress (stage: ${conductor.stage})`,
    };
    this.#record.write(
      this.#result(this.#opened, { ...this.#measurements, aborted: this.#measurements.aborted ?? killed }),
    );
  }

  #result({ environment, context }: Opened, measurements = this.#measurements): Result {
    return assembleResult(measurements, this.#config, environment, context.sampler);
  }
}

function exitCodeOf({ verdict }: Result): number {
  if (verdict.status === 'VALID') return 0;
  return verdict.status === 'SUSPECT' ? EXIT_CODES.suspect : EXIT_CODES.invalid;
}
