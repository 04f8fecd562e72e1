import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createScenarioFunction } from '../../plugin/engine/play.ts';
import type { Scenario, Script } from '../../plugin/script/script.ts';
import { Meter } from '../../plugin/virtual-user/meter.ts';
import type { SharedByUsers } from '../../plugin/virtual-user/shared.ts';
import { RunSignals } from '../../plugin/virtual-user/signals.ts';
import { newUserTally } from '../../plugin/virtual-user/tally.ts';
import type { ArtilleryHelpers, UserContext } from '../../plugin/virtual-user/user-types.ts';
import { engineOptions } from './connection.ts';
import { FakeFleet } from './fake-fleet.ts';
import { mistakesIn } from './mistakes.ts';

const artillery = dirname(createRequire(import.meta.url).resolve('artillery/package.json'));

/** Artillery's helpers that it passes to engines. */
export const helpers: ArtilleryHelpers = await import(
  pathToFileURL(join(artillery, 'dist/lib/commons/engine_util.js')).href
);

export interface Outcome {
  error: { code?: string; message?: string } | null;
  vars: Record<string, unknown>;
  /** Calls to the callbacks that Artillery counts. A second call of either breaks a run. */
  started: number;
  callbacks: number;
  errors: unknown[];
}

/** An engine with simulated fleet processes, and its virtual users. */
export class Bench {
  readonly fleet = new FakeFleet();
  readonly engine: SharedByUsers;
  readonly counters: Record<string, number> = {};
  readonly histograms: Record<string, number[]> = {};
  readonly warnings: string[] = [];
  readonly #script: Script;

  /** @param options options in `config.engines.socketio-capacity` */
  constructor(options: Record<string, unknown> = {}, processor: Record<string, unknown> = {}, target?: string) {
    this.#script = {
      config: { target: target ?? 'http://127.0.0.1:1', engines: { 'socketio-capacity': options }, processor },
    };
    this.engine = {
      config: engineOptions(this.#script.config),
      fleet: this.fleet,
      helpers,
      http: undefined,
      processor,
      meter: new Meter(),
      tally: newUserTally(),
      signals: new RunSignals(),
      warn: (message) => this.warnings.push(message),
    };
  }

  /** @returns the variables after a flow that must not fail */
  async passes(flow: unknown[], vars: Record<string, unknown> = {}, scenario: Scenario = {}) {
    const { error, vars: left } = await this.play(flow, vars, scenario);
    assert.equal(error, null);
    return left;
  }

  /** @returns the code with which the flow fails; undefined if it does not fail */
  async codeOf(...flow: unknown[]): Promise<string | undefined> {
    return (await this.play(flow)).error?.code;
  }

  /** Runs the flow once. Resolves at the callback; later events are still counted in the outcome. */
  play(flow: unknown[], vars: Record<string, unknown> = {}, scenario: Scenario = {}): Promise<Outcome> {
    const spec = { ...scenario, engine: 'socketio-capacity', flow };
    const problems = mistakesIn({ ...this.#script, scenarios: [spec] });
    if (problems.length > 0) throw new Error(JSON.stringify(problems));
    const context: UserContext = { vars };
    const outcome: Outcome = { error: null, vars, started: 0, callbacks: 0, errors: [] };
    const events = {
      emit: (event: string, name: unknown, value: number) => {
        if (event === 'started') outcome.started++;
        if (event === 'error') outcome.errors.push(name);
        if (event === 'counter') this.counters[String(name)] = (this.counters[String(name)] ?? 0) + value;
        if (event === 'histogram') this.histograms[String(name)] = [...(this.histograms[String(name)] ?? []), value];
      },
    };
    this.engine.meter.attach(events);
    const virtualUser = createScenarioFunction(spec, events, this.engine, () => 0);
    return new Promise((resolve) => {
      virtualUser(context, (error) => {
        outcome.callbacks++;
        outcome.error = error as Outcome['error'];
        resolve(outcome);
      });
    });
  }
}
