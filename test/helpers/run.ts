/**
 * Starts complete runs: `artillery run` with engine and plugin. Each has its own process group, folder and state
 * folder.
 */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { rootFindings } from '../../plugin/findings/find.ts';
import { EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import type { FindingCode } from '../../protocol/codes/finding-codes.ts';
import { type Result, resultSchema } from '../../protocol/result/result.ts';
import { LISTENER_PORT_RANGE } from '../../server/stack/ports.ts';
import { readStackState } from '../../server/stack/state/state.ts';
import { assertFoots } from './foots.ts';
import { eventually } from './poll.ts';
import { processes, startProcess } from './process.ts';
import type { Cleaner } from './raw-listen.ts';
import { tempStateDir } from './stack.ts';

const ownArtillery = join(dirname(createRequire(import.meta.url).resolve('artillery/package.json')), 'bin/run');

/** Time limit in milliseconds, more than twice the longest run of the tests. */
const LIMIT_MS = 180_000;

interface RunOptions {
  /** Script as an object, or as the text of the file. */
  script: object | string;
  env?: Record<string, string>;
  args?: string[];
  /** Start script of Artillery. Default: this repository's. */
  artillery?: string;
  /** Shell commands that run before the run. */
  before?: string;
  /** Whether to run in a pseudo terminal (`script`). */
  terminal?: boolean;
}

export type StartedRun = ReturnType<typeof startRun>;

const FLOW: object[] = [{ emit: ['join_room', { clientKey: 'capacity' }] }, { hold: true }];

/**
 * Returns a script with 10 connections in two ramps and little of everything. It takes about 10 s, plus the start of a
 * stack.
 * @param config without a target, the script measures the bundled deployment on its own port, because test files run
 * concurrently
 */
export function quickScript(
  config: { target?: string; [key: string]: unknown } = {},
  options: object = {},
  engineOptions: object = {},
  flow = FLOW,
) {
  const ramp = { duration: 1, arrivalRate: 5, rampTo: 5 };
  const port = randomInt(LISTENER_PORT_RANGE.low, LISTENER_PORT_RANGE.high);
  return {
    config: {
      target: `http://127.0.0.1:${port}`,
      engines: { 'socketio-capacity': engineOptions },
      plugins: {
        'socketio-capacity': {
          ...(config.target === undefined && { stack: { port } }),
          warmUp: 20,
          singleRoundTrips: 2,
          hold: 0.2,
          broadcasts: { count: 3, interval: 0.2 },
          drain: { quiet: 0.3 },
          ...options,
        },
      },
      phases: [ramp, { pause: 2 }, ramp, { pause: 2 }],
      ...config,
    },
    scenarios: [{ engine: 'socketio-capacity', flow }],
  };
}

/**
 * Starts a run. Its processes end after the test.
 * @returns the run; `directory` contains the folder `results`
 */
export function startRun(
  t: Cleaner,
  { script, env = {}, args = [], artillery = ownArtillery, before = ':', terminal = false }: RunOptions,
) {
  const stateDir = tempStateDir(t);
  const directory = join(dirname(stateDir), 'run');
  mkdirSync(directory);
  writeFileSync(join(directory, 'quick.yml'), typeof script === 'string' ? script : JSON.stringify(script));
  const command = `exec "${process.execPath}" "${artillery}" run ${args.join(' ')} quick.yml`;
  const shell = `${before}; ${terminal ? `exec script -qfec '${command}' /dev/null` : command}`;
  const own = { ARTILLERY_DISABLE_TELEMETRY: 'true', NODE_OPTIONS: '', SOCKETIO_CAPACITY_HOME: stateDir };
  const options = { cwd: directory, detached: true, env: { ...process.env, ...own, ...env } };
  const run = startProcess(t, 'sh', ['-c', shell], options);
  const timer = setTimeout(run.kill, LIMIT_MS, 'SIGKILL');
  let isOver = false;
  void run.ended.then(() => {
    isOver = true;
    clearTimeout(timer);
  });
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const results = join(directory, 'results');
  const result = () => latestResult(results);
  const whileRunning = async (what: string, happened: () => Promise<boolean> | boolean | undefined) => {
    await eventually(what, () => isOver || happened(), LIMIT_MS);
    if (isOver) throw new Error(`the run ended before ${what}:\n${run.output()}`);
  };
  return {
    ...run,
    ...{ directory, stateDir, result },
    /** Sends Ctrl-C: a signal to the process group of the terminal. */
    interrupt: () => run.kill('SIGINT'),
    stack: () => {
      const state = readStackState(stateDir);
      return typeof state === 'object' ? state : undefined;
    },
    /** Waits until result.json reports the stage as started or over. */
    reached: (stage: string) => whileRunning(`stage ${stage}`, () => hasReached(result(), stage)),
    /** Waits for the first broadcast of a run with the option `live`. */
    broadcast: () => whileRunning('a broadcast', async () => (await broadcastsSent(run.output())) > 0),
  };
}

/**
 * @param output output of a run with the option `live`
 * @returns the number of broadcasts on its live page
 */
export async function broadcastsSent(output: string): Promise<number> {
  const page = /Live view: (http:\S+)/.exec(output)?.[1];
  if (page === undefined) return 0;
  const metrics = await fetch(`${page}metrics`).then(
    (answer) => answer.text(),
    () => '',
  );
  return Number(/^socketio_capacity_broadcasts_total\{[^}]*\} (\d+)$/m.exec(metrics)?.[1] ?? 0);
}

/**
 * @param folder folder of results
 * @returns the newest result, as far as it is written
 */
export function latestResult(folder: string): Result | undefined {
  const path = join(folder, 'latest/result.json');
  return existsSync(path) ? resultSchema.parse(JSON.parse(readFileSync(path, 'utf8'))) : undefined;
}

/** @returns whether the stage has started or is over */
export function hasReached(result: Result | undefined, stage: string): boolean | undefined {
  return result?.stages.some(({ name }) => name === stage);
}

/** Findings that other tests on the machine can cause. */
const BUSY_MACHINE = new Set([
  'MACHINE_SATURATED',
  'GENERATOR_LATE',
  'RATE_NOT_REACHED',
  'READINGS_MISSING',
  'BROADCASTS_LATE',
  'MEMORY_UNEXPLAINED',
  'WORKER_STALLED',
  'WORKERS_SATURATED',
  'QUEUE_GROWS',
  'CLOCK_UNCERTAIN',
]);

/** Finding of pauses that are too short on a slow machine. Artillery's pauses end by the clock. */
export const TOO_SLOW_TO_READ: FindingCode[] = ['PLATEAUS_UNUSABLE'];

/**
 * @param expected codes that the server causes
 * @param excused codes that this kind of run can add
 * @returns sorted codes of root findings, without findings of a busy machine
 */
export function reasonsOfServer(
  { findings }: Result,
  expected: FindingCode[] = [],
  excused = TOO_SLOW_TO_READ,
): string[] {
  const isAmong = (codes: FindingCode[], code: string) => codes.some((known) => known === code);
  const isBusy = ({ code, message }: Result['findings'][number]) =>
    (BUSY_MACHINE.has(code) || isAmong(excused, code)) &&
    !isAmong(expected, code) &&
    // A busy machine can cause missing samples, but not a source without replies.
    (code !== 'READINGS_MISSING' || /samples|gap/.test(message));
  return rootFindings(findings.filter((reason) => !isBusy(reason)))
    .map(({ code }) => code)
    .sort();
}

/** @returns whether the run reported delays, so that timed events may be missing */
export function wasLate({ findings }: Result): boolean {
  return findings.some(({ code }) => BUSY_MACHINE.has(code));
}

/** @returns whether the run has read memory in all pauses */
export function hasAllPlateaus({ findings }: Result): boolean {
  return !findings.some(({ code }) => TOO_SLOW_TO_READ.some((known) => known === code));
}

/**
 * Asserts that a run succeeded: its verdict is VALID apart from findings of a busy machine, and no process remains.
 * @returns the result
 */
export async function goodResult(run: StartedRun, excused?: FindingCode[]): Promise<Result> {
  const exitCode = await run.ended;
  const result = run.result();
  assert.ok(result, run.output());
  assertGood(result, exitCode, run.output(), excused);
  assert.deepEqual(strays(run), []);
  return result;
}

export function assertGood(result: Result, exitCode: number | null, output: string, excused?: FindingCode[]): void {
  assertFoots(result, output);
  assert.deepEqual(reasonsOfServer(result, [], excused), [], output);
  assert.equal(result.outcome.status, 'PASSED', output);
  assert.equal(exitCode, result.verdict.status === 'VALID' ? 0 : EXIT_CODES.suspect, output);
}

/** @returns processes whose command line or environment contains the folders of the run */
export function strays({ stateDir }: StartedRun): string[] {
  const isOfRun = (text: string) => text.includes(dirname(stateDir));
  return processes()
    .filter(({ pid, command, environment }) => pid !== process.pid && [command, ...environment].some(isOfRun))
    .map(({ pid, command }) => `${pid} ${command}`);
}
