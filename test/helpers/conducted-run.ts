/** A conductor on a simulated run. The test sends Artillery's events to it. */
import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { concludeRun } from '../../plugin/findings/conclude.ts';
import { Conductor } from '../../plugin/run/conductor.ts';
import type { FindingCode } from '../../protocol/codes/finding-codes.ts';
import type { Result } from '../../protocol/result/result.ts';
import { FakeRun } from './fake-run.ts';
import { perfectResult } from './results.ts';
import { assertNames } from './verdict.ts';
import { VirtualTime } from './virtual-time.ts';

/** Ramp with ten virtual users. */
export const RAMP = { duration: 2, arrivalRate: 5 };
export const PAUSE = { pause: 3 };

const OPTIONS = {
  warmUp: 0,
  singleRoundTrips: 2,
  hold: 4,
  broadcasts: { count: 3, interval: 1 },
  drain: { quiet: 1, deadline: 5 },
};

export class ConductedRun {
  readonly time: VirtualTime;
  readonly run: FakeRun;
  readonly conductor: Conductor;

  /** @param options options of the plugin that replace the short defaults */
  constructor(t: TestContext, options: object = {}, phases: object[] = [RAMP, PAUSE, RAMP, PAUSE]) {
    this.time = new VirtualTime(t);
    this.run = new FakeRun({ ...OPTIONS, ...options }, { phases });
    this.conductor = new Conductor(this.run.context);
  }

  get stages(): string[] {
    return this.run.measurements.stages.map(({ name }) => name);
  }

  get result(): Result {
    const { measurements, context } = this.run;
    return concludeRun(measurements, context.config, perfectResult().environment, context.sampler);
  }

  prepare(): Promise<void> {
    return this.time.until(this.conductor.prepare());
  }

  phase(index: number): Promise<void> {
    return this.time.until(this.conductor.phaseStarted(index));
  }

  finale(): Promise<void> {
    return this.time.until(this.conductor.finale());
  }

  /** Plays all phases until the run is stopped. The virtual users of a phase connect all at once. */
  async arriveAll(): Promise<void> {
    const { phases } = this.run.context.config;
    for (const [index, { pause, duration = 0, arrivalRate = 0 }] of phases.entries()) {
      if (this.run.stop.signal.aborted) return;
      await this.phase(index);
      this.run.arrive(duration * arrivalRate);
      await this.time.pass((pause ?? duration) * 1000);
    }
  }

  /**
   * Plays the whole run.
   * @param atTarget called when all users are connected, before the last measurements
   */
  async whole(atTarget = () => {}): Promise<void> {
    await this.prepare();
    await this.load(atTarget);
  }

  /** Plays the run after its baseline. */
  async load(atTarget = () => {}): Promise<void> {
    await this.arriveAll();
    atTarget();
    if (!this.run.stop.signal.aborted) await this.finale();
  }
}

export type Change = (run: FakeRun, conducted: ConductedRun) => unknown;

/** Applies a change to a run, and plays the run up to its baseline. */
export async function prepared(t: TestContext, options: object, change: Change): Promise<ConductedRun> {
  const conducted = new ConductedRun(t, options);
  change(conducted.run, conducted);
  await conducted.prepare();
  return conducted;
}

export async function fromTheStart(t: TestContext, options: object, change: Change): Promise<ConductedRun> {
  const conducted = await prepared(t, options, change);
  await conducted.load();
  return conducted;
}

export async function afterTheBaseline(t: TestContext, options: object, change: Change): Promise<ConductedRun> {
  const conducted = await prepared(t, options, () => {});
  change(conducted.run, conducted);
  await conducted.load();
  return conducted;
}

export async function atFullTarget(t: TestContext, options: object, change: Change): Promise<ConductedRun> {
  const conducted = await prepared(t, options, () => {});
  await conducted.load(() => change(conducted.run, conducted));
  return conducted;
}

/**
 * A change of a run, the code of its only warning, and words of the message. Without a code, the run has no warning.
 */
export type Warned = [situation: string, change: Change, code?: FindingCode, ...details: (string | number)[]];

export function testWarnings(conduct: typeof prepared, cases: Warned[]): void {
  for (const [situation, change, code, ...details] of cases) {
    it(`a run gives ${code === undefined ? 'no warning' : `the warning ${code}`} for: ${situation}`, async (t) =>
      assertWarned(await conduct(t, {}, change), code, ...details));
  }
}

/** Asserts the code of the only warning and words of its message. Without a code, asserts that there is no warning. */
export function assertWarned({ run }: ConductedRun, code?: FindingCode, ...details: (string | number)[]): void {
  assert.deepEqual(run.codes, code ? [code] : []);
  assertNames(run.noticed[0]?.message, details);
}
