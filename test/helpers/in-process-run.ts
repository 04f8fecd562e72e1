/**
 * Runs a measured run without Artillery. Settings, engine, fleet processes and result are real; only the arrivals
 * are simulated.
 */
import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { format } from 'node:util';
import { MeasuredRun } from '../../plugin/conduct/measured-run.ts';
import CapacityEngine from '../../plugin/engine/engine.ts';
import { observedFindings } from '../../plugin/findings/checks/observed/observed.ts';
import { Fleet } from '../../plugin/fleet/fleet.ts';
import { EngineLink } from '../../plugin/run/link.ts';
import type { RunStage } from '../../plugin/run/stage.ts';
import { handOverSettings } from '../../plugin/script/handed-over.ts';
import { type Scenario, type Script, usesOurEngine } from '../../plugin/script/script.ts';
import { readSettings } from '../../plugin/script/settings.ts';
import { STEP_KINDS } from '../../plugin/virtual-user/steps/index.ts';
import { describeError } from '../../protocol/codes/errors.ts';
import type { FindingCode } from '../../protocol/codes/finding-codes.ts';
import { openThreadCarrier } from '../../protocol/link/carrier.ts';
import { type Result, resultSchema } from '../../protocol/result/result.ts';
import { eventually } from './poll.ts';
import { assertGood, quickScript } from './run.ts';
import { helpers } from './virtual-user.ts';

export type InProcessRun = ReturnType<typeof startInProcess>;

/** Output of each run. It is separate, because several runs are concurrent. */
const printed = new AsyncLocalStorage<string[]>();
const printElsewhere = console.error;
console.error = (...parts) => {
  const lines = printed.getStore();
  if (lines) lines.push(format(...parts));
  else printElsewhere(...parts);
};

/** Memory findings that are excused, because the server shares this process with other runs. */
const MEMORY_OF_ALL_RUNS: FindingCode[] = ['MEMORY_GROWS', 'MEMORY_NOT_LINEAR'];

/**
 * Returns a script like `quickScript`, but its pauses end when memory has been read.
 * @param users number of users in each of the two ramps
 */
export function inProcessScript(config: object, options: object, engineOptions = {}, flow?: object[], users = 5) {
  const ramp = { duration: 1, arrivalRate: users, rampTo: users };
  const phases = [ramp, { pause: 0.1 }, ramp, { pause: 0.1 }];
  return quickScript({ phases, ...config }, options, engineOptions, flow);
}

/** Asserts that a run succeeds, like `goodResult`. */
export async function goodInProcess(script: Script, excused = MEMORY_OF_ALL_RUNS) {
  const ended = await startInProcess(script).ended;
  assertGood(ended.result, ended.exitCode, ended.output, excused);
  return ended;
}

const READING_TIMEOUT_MS = 60_000;

/**
 * Starts a run whose pauses last until memory has been read, even on a busy machine.
 * @param variables variables of the virtual users in the order of arrival, repeated
 * @param environment environment variables that change settings
 */
export function startInProcess(
  given: Script,
  variables: Record<string, unknown>[] = [{}],
  environment: Record<string, string> = {},
) {
  const lines: string[] = [];
  return printed.run(lines, () => start(given, variables, environment, lines));
}

function start(
  given: Script,
  variables: Record<string, unknown>[],
  environment: Record<string, string>,
  lines: string[],
) {
  // Copies the script, as if it were read from a file.
  const script: Script = JSON.parse(JSON.stringify(given));
  const folder = mkdtempSync(join(tmpdir(), 'run-'));
  const testRunId = randomUUID();
  const note = (text: string) => void lines.push(text);
  const stop = new AbortController();
  let endedWith = 0;
  const config = readSettings(script, STEP_KINDS, { CAPACITY_RESULTS: folder, ...environment });
  const run = new MeasuredRun({
    script,
    config,
    scriptPath: undefined,
    link: new EngineLink(openThreadCarrier(testRunId)),
    terminal: { quiet: false, print: note, beforeLine: () => {} },
    artilleryVersion: 'none',
    admit: async () => {},
    end: async (exitCode) => {
      endedWith = exitCode;
      stop.abort();
    },
  });
  const artillery = new EventEmitter();
  const noteError = (error: unknown) => note(describeError(error));
  const runtime = { testRunId, engineId: '1', isWorker: true, warn: note, abort: noteError, fail: noteError };
  let fleet: Promise<Fleet> | undefined;
  const startFleet: typeof Fleet.start = (...args) => (fleet = Fleet.start(...args));
  const engine = new CapacityEngine(script, artillery as never, helpers, { runtime, startFleet });
  const ofOthers = script.scenarios?.filter((scenario) => !usesOurEngine(scenario, script)) ?? [];
  // Passes the settings to the engine that starts next.
  handOverSettings(config);

  const read = (name: string) => readFileSync(join(folder, 'latest', name), 'utf8');

  async function whole() {
    try {
      await Promise.race([engine.init().then(playPhases), once(stop.signal, 'abort')]);
      await run.report(stop.signal.aborted);
      assert.ok(run.result, lines.join('\n'));
      const result: Result = resultSchema.parse(JSON.parse(read('result.json')));
      assert.ok(existsSync(join(folder, 'latest', 'report.html')), lines.join('\n'));
      return { result, exitCode: run.exitCode, output: lines.join('\n'), page: read('report.html') };
    } finally {
      stop.abort();
      await run.close();
      await engine.close();
      // Closes the fleet processes of a refused run, which did not wait for them.
      await (await fleet)?.close();
      rmSync(folder, { recursive: true, force: true });
    }
  }

  /**
   * Plays the phases like Artillery, which ends a run after its last virtual user. The first scenario alternates with
   * scenarios of other engines.
   */
  async function playPhases(): Promise<void> {
    const [scenario] = script.scenarios as [Scenario];
    const plays = [scenario, ...ofOthers].map((one) => engine.createScenario(one, { emit: () => {} } as never));
    const users: Promise<void>[] = [];
    /** Number of readings so far. A warning that a pause has no reading counts, too. */
    const readings = () => {
      const { plateaus, overTime, observations } = run.measurements;
      const unusable = observedFindings(observations).filter(({ code }) => code === 'PLATEAUS_UNUSABLE');
      return plateaus.length + (overTime?.readings.added ?? 0) + unusable.length;
    };
    for (const [index, { pause, duration = 0, arrivalRate = 0 }] of config.phases.entries()) {
      if (stop.signal.aborted) return;
      const beganMs = performance.now();
      const before = readings();
      run.phaseStarted(index);
      artillery.emit('phaseStarted');
      for (let arrival = 0; arrival < duration * arrivalRate; arrival++) {
        await delay(Math.max(0, beganMs + ((arrival + 0.5) * 1000) / arrivalRate - performance.now()));
        const vars = { target: script.config.target, ...variables[users.length % variables.length] };
        const play = plays[users.length % plays.length];
        users.push(new Promise((resolve) => play?.({ vars, funcs: {} }, () => resolve())));
      }
      await delay(Math.max(0, beganMs + (pause ?? duration) * 1000 - performance.now()));
      const isRead = () => stop.signal.aborted || readings() > before;
      if (pause !== undefined) await eventually('a reading of memory', isRead, READING_TIMEOUT_MS);
    }
    run.phasesCompleted();
    await Promise.all(users);
  }

  const ended = whole();
  ended.catch(() => {});
  /** Error of a run without a result. Used instead of `ended`. */
  const failed = ended.then(
    () => assert.fail(`it has a result:\n${lines.join('\n')}`),
    () => ({ exitCode: endedWith, output: lines.join('\n') }),
  );
  failed.catch(() => {});
  return {
    ended,
    failed,
    /** Folder of the run's results. */
    folder,
    /** Waits until this stage has started. */
    async reached(stage: RunStage) {
      const isReached = () => run.measurements.stages.at(-1)?.name === stage;
      await Promise.race([ended, eventually(`stage ${stage}`, isReached, 2 * READING_TIMEOUT_MS)]);
      assert.ok(isReached(), `the run ended before stage ${stage}`);
    },
  };
}
