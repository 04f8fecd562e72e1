/** A measured run inside Artillery. Follows Artillery's events, adds metrics, and sets the exit code. */
import { worstExitCode } from '../../protocol/codes/exit-codes.ts';
import { openThreadCarrier } from '../../protocol/link/carrier.ts';
import { MeasuredRun } from '../conduct/measured-run.ts';
import { logToTerminal, type RunTerminal } from '../conduct/terminal.ts';
import { requireLoadFits, requireOpenFileLimit } from '../doctor/diagnosis.ts';
import { addMetrics, periodMetrics, thresholdsOf } from '../result/artillery-metrics.ts';
import type { ArtilleryStats } from '../result/artillery-stats.ts';
import { EngineLink } from '../run/link.ts';
import { handOverSettings } from '../script/handed-over.ts';
import type { Script } from '../script/script.ts';
import { readSettings } from '../script/settings.ts';
import { STEP_KINDS } from '../virtual-user/steps/index.ts';
import {
  type ArtilleryEvents,
  artilleryGlobal,
  replacePhases,
  type ShutdownOptions,
  tuneWorkerHeaps,
} from './artillery-hooks.ts';
import { ARTILLERY_LOG, divertReporter } from './reporter.ts';

export interface HookRunOptions {
  scriptPath?: string;
}

export class HookRun extends MeasuredRun {
  /**
   * Prepares a measured run.
   * @throws CapacityError for invalid settings; nothing stays open then
   */
  constructor(script: Script, events: ArtilleryEvents, { scriptPath }: HookRunOptions) {
    requireOpenFileLimit();
    const config = readSettings(script, STEP_KINDS, process.env);
    const terminal = artilleryTerminal();
    super({
      script,
      config,
      scriptPath,
      link: new EngineLink(openThreadCarrier(artilleryGlobal().testRunId)),
      terminal,
      artilleryVersion: artilleryGlobal().version,
      admit: () => requireLoadFits(config, (text) => logToTerminal(terminal, text)),
      end: (exitCode) => artilleryGlobal().shutdown({ earlyStop: true, exitCode }),
      files: [ARTILLERY_LOG],
    });
    divertReporter(events, this.files, ARTILLERY_LOG);
    replacePhases(config.phases);
    handOverSettings(config);
    // Third-party engines run with Node's default heap.
    if (!config.external) tuneWorkerHeaps();
    this.#listen(events, config.phases.length - 1);
  }

  /** Sets Artillery's exit code. Must be called after all plugins have reported, because other plugins set it, too. */
  setExitCode({ earlyStop, exitCode = 0 }: ShutdownOptions): void {
    const global = artilleryGlobal();
    // If the run was stopped early, Artillery's exit code is kept.
    const own = earlyStop ? exitCode : this.exitCode;
    global.suggestedExitCode = worstExitCode([global.suggestedExitCode ?? 0, own]);
  }

  #listen(events: ArtilleryEvents, lastPhase: number): void {
    const { measurements } = this;
    let totals: ArtilleryStats | undefined;
    events.on('phaseStarted', ({ index }) => this.phaseStarted(index));
    events.on('phaseCompleted', ({ index }) => {
      if (index === lastPhase) this.phasesCompleted();
    });
    artilleryGlobal().globalEvents.on('checks', (checks) => {
      measurements.thresholds = thresholdsOf(checks, totals);
    });
    // Skipped virtual users are counted during the run, because Artillery reports their total only at the end of a
    // complete run.
    events.on('stats', ({ counters }) => {
      measurements.skippedUsers += counters['vusers.skipped'] ?? 0;
    });
    events.on('done', (stats) => {
      measurements.skippedUsers = stats.counters['vusers.skipped'] ?? 0;
      totals = stats;
      const { result } = this;
      if (!result) return;
      addMetrics(stats, result);
      events.emit('stats', periodMetrics(stats, result));
    });
  }
}

function artilleryTerminal(): RunTerminal {
  return {
    quiet: artilleryGlobal().testInfo.flags.quiet === true,
    print: (text) => artilleryGlobal().log(text),
    beforeLine: (listener) => artilleryGlobal().globalEvents.prependListener('log', listener),
  };
}
