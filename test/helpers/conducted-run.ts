/** A conductor on a fake run, and Artillery's events to it. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { Conductor } from '../../plugin/run/conductor.ts';
import type { ReasonCode } from '../../protocol/codes/verdict-reasons.ts';
import { FakeRun } from './fake-run.ts';
import { assertNames } from './verdict.ts';
import { VirtualTime } from './virtual-time.ts';

/** Ten virtual users. */
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

  /** @param options of the plugin, in place of short ones */
  constructor(t: TestContext, options: object = {}, phases: object[] = [RAMP, PAUSE, RAMP, PAUSE]) {
    this.time = new VirtualTime(t);
    this.run = new FakeRun({ ...OPTIONS, ...options }, { phases });
    this.conductor = new Conductor(this.run.context);
  }

  get stages(): string[] {
    return this.run.measurements.stages.map(({ name }) => name);
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

  /** All phases, until the run is stopped; the virtual users of each connect at once. */
  async arriveAll(): Promise<void> {
    const { phases } = this.run.context.config;
    for (const [index, { pause, duration = 0, arrivalRate = 0 }] of phases.entries()) {
      if (this.run.stop.signal.aborted) return;
      await this.phase(index);
      this.run.arrive(duration * arrivalRate);
      await this.time.pass((pause ?? duration) * 1000);
    }
  }

  async whole(): Promise<void> {
    await this.prepare();
    await this.arriveAll();
    if (!this.run.stop.signal.aborted) await this.finale();
  }
}

/** The only warning; its message has the details. Without a code, there is none. */
export function assertWarned({ run }: ConductedRun, code?: ReasonCode, ...details: (string | number)[]): void {
  assert.deepEqual(run.codes, code ? [code] : []);
  assertNames(run.measurements.warnings[0]?.message, details);
}
