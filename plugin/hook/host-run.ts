/**
 * Runs Artillery on one of several generator hosts. Generates the host's share of the load, and follows the commands of
 * a conductor.
 */
import { randomUUID } from 'node:crypto';
import { availableParallelism, hostname, totalmem } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import { reportFatalError } from '../../protocol/base/fatal-error.ts';
import { readCgroup } from '../../protocol/base/machine/cgroup.ts';
import { thisHost, thisMachine } from '../../protocol/base/machine/this-host.ts';
import { lowestLimit } from '../../protocol/base/machine/usable.ts';
import { makeFolder } from '../../protocol/base/make-folder.ts';
import { escapeEachLine } from '../../protocol/base/printable.ts';
import { ownRelease } from '../../protocol/base/release.ts';
import { tryOrUndefined } from '../../protocol/base/try-or-undefined.ts';
import { describeError } from '../../protocol/codes/errors.ts';
import { exitCodeOfOutcome } from '../../protocol/codes/exit-codes.ts';
import { openThreadCarrier } from '../../protocol/link/carrier.ts';
import { requireOwnEngine } from '../conduct/hosts/admission.ts';
import { HostAgent } from '../conduct/hosts/generator-host.ts';
import { hostTotalsOf } from '../conduct/hosts/host-totals.ts';
import { readJoinToken } from '../conduct/hosts/join-token.ts';
import { requireLoadFits, requireOpenFileLimit } from '../doctor/diagnosis.ts';
import { RunFiles } from '../run/folder/run-files.ts';
import { handOverSettings } from '../script/handed-over.ts';
import { arrivalsOf } from '../script/load/phases.ts';
import type { HostShare } from '../script/load/shares.ts';
import { digestRunInputs } from '../script/run-inputs.ts';
import type { Script } from '../script/script.ts';
import { readSettings } from '../script/settings.ts';
import { STEP_KINDS } from '../virtual-user/steps/index.ts';
import {
  type ArtilleryEvents,
  artilleryGlobal,
  disableThresholds,
  replacePhases,
  type ShutdownOptions,
  tuneWorkerHeaps,
} from './artillery-hooks.ts';
import { divertReporter } from './reporter.ts';

/**
 * Placeholder for the control token. Hosts need none, because only the conductor connects to the workers' control
 * ports.
 */
const NO_TOKEN = 'only-the-conductor-needs-it';

interface HostRunOptions {
  /** Join token of the conductor. */
  conductor: string;
  share: HostShare;
  /** Milliseconds without a message from the conductor after which it counts as lost. */
  silentAfterMs?: number;
}

export class HostRun {
  readonly #agent: HostAgent;
  /**
   * Whether the conductor has ended this host's run, or is lost. The host then sends no message about the end of its
   * load.
   */
  #ended = false;
  /** Exit code of this host. Undefined once the host has joined, because the conductor then decides on the outcome. */
  #exitCode: number | undefined = exitCodeOfOutcome('refused');

  /**
   * Prepares this host's part of a run.
   * @throws CapacityError for invalid settings; nothing stays open then
   */
  constructor(script: Script, events: ArtilleryEvents, { conductor, share, silentAfterMs }: HostRunOptions) {
    requireOpenFileLimit();
    const join = readJoinToken(conductor);
    const config = readSettings(script, STEP_KINDS, { CAPACITY_TOKEN: NO_TOKEN, ...process.env }, share);
    requireOwnEngine(config);
    // An error is ignored, because the conductor stores all figures. On this host, the folder contains only a log.
    tryOrUndefined(() => makeFolder(config.results));
    const files = new RunFiles(config.results);
    files.onFailed = (error) => console.error(describeError(error));
    divertReporter(events, files, `artillery-${hostname()}.log`);
    replacePhases(config.phases);
    handOverSettings(config);
    tuneWorkerHeaps();
    // This host does not check thresholds, because the conductor checks them against the figures of all hosts.
    disableThresholds();
    this.#agent = new HostAgent({
      join,
      hello: {
        host: hostname(),
        instance: randomUUID(),
        kernel: thisHost().kernel,
        version: ownRelease(),
        hosts: share.hosts,
        index: share.index,
        inputs: digestRunInputs(script, process.env),
        arrivals: config.phases.map(arrivalsOf),
        cores: availableParallelism(),
        memoryLimitBytes: lowestLimit(readCgroup().memory, totalmem())?.max ?? null,
        machine: thisMachine(),
      },
      carrier: openThreadCarrier(artilleryGlobal().testRunId),
      admit: () => requireLoadFits(config, log, share.hosts),
      onEnd: (exitCode, why) => this.#end(exitCode, why),
      ...(silentAfterMs !== undefined && { silentAfterMs }),
    });
    events.on('phaseStarted', ({ index }) => this.#agent.phase(index, 'started'));
    events.on('phaseCompleted', ({ index }) => this.#agent.phase(index, 'completed'));
    events.on('stats', ({ counters }) => {
      this.#agent.skippedUsers += counters['vusers.skipped'] ?? 0;
    });
    events.on('done', (stats) => {
      this.#agent.skippedUsers = stats.counters['vusers.skipped'] ?? 0;
      this.#agent.totals = hostTotalsOf(stats);
    });
    const { host, port } = join;
    log(`This host opens ${config.load.connections} connections; ${host}:${port} conducts the run and has its result.`);
    // The join is deferred, because Artillery cannot shut down while it is creating plugins.
    void setImmediate().then(() =>
      this.#join().catch((error) => this.#end(exitCodeOfOutcome('refused'), error as Error)),
    );
  }

  /**
   * Reports the end of this host's load to the conductor.
   * @param earlyStop whether Ctrl-C or the conductor has stopped the run early
   */
  async report(earlyStop: boolean): Promise<void> {
    if (!this.#ended) await this.#agent.bye(earlyStop);
  }

  setExitCode({ earlyStop, exitCode }: ShutdownOptions): void {
    // If the run was stopped early, Artillery's exit code is kept.
    const own = earlyStop ? exitCode : this.#exitCode;
    if (own) artilleryGlobal().suggestedExitCode = own;
  }

  /** Idempotent. */
  close(): Promise<void> {
    return this.#agent.close();
  }

  async #join(): Promise<void> {
    await this.#agent.join();
    if (!this.#ended) this.#exitCode = undefined;
  }

  #end(exitCode: number | undefined, why: Error | string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#exitCode = exitCode ?? exitCodeOfOutcome('failed');
    if (typeof why === 'string') log(why);
    else reportFatalError(why);
    void artilleryGlobal().shutdown({ earlyStop: true, exitCode: this.#exitCode });
  }
}

function log(text: string): void {
  if (artilleryGlobal().testInfo.flags.quiet !== true) artilleryGlobal().log(escapeEachLine(text));
}
