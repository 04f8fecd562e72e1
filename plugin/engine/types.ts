/** Artillery's contract, as far as this engine uses it. Artillery publishes no types for engines. */

/** Key of the engine in `config.engines`, and the value of a scenario's `engine`. */
export const ENGINE_NAME = 'socketio-capacity';

/** One virtual user's variables and template functions; Artillery makes it, processor functions change it. */
export interface Context {
  vars: Record<string, unknown>;
  funcs?: Record<string, (...args: unknown[]) => unknown>;
  /** Headers that a processor function adds to the connections opened after it. */
  extraHeaders?: Record<string, string>;
  [key: string]: unknown;
}

/** The emitter of a scenario: the only one whose metrics Artillery records. */
export interface ScenarioEvents {
  emit(event: string, ...args: unknown[]): unknown;
}

/** The emitter of a worker's runner: phases only. */
export interface RunnerEvents {
  on(event: 'phaseStarted' | 'phaseCompleted', listener: (phase: Phase) => void): unknown;
}

export interface Phase {
  duration?: number | string;
  pause?: number | string;
  arrivalRate?: number | string;
  rampTo?: number | string;
  arrivalCount?: number | string;
  maxVusers?: number | string;
  totalWorkers?: number;
  /** Which of them, from 1. */
  worker?: number;
}

export interface Scenario {
  name?: string;
  engine?: string;
  flow?: unknown[];
  beforeScenario?: string | string[];
  afterScenario?: string | string[];
}

export interface Script {
  config: {
    target?: string;
    engine?: string;
    engines?: Record<string, unknown>;
    plugins?: Record<string, unknown>;
    phases?: Phase[];
    /** A path in the main thread, the module's functions in a worker. */
    processor?: string | Record<string, unknown>;
    defaults?: { think?: { jitter?: number | string } };
    [key: string]: unknown;
  };
  scenarios?: Scenario[];
  before?: Scenario;
  after?: Scenario;
}

export interface Outcome {
  captures: Record<string, { value?: unknown; failed?: boolean }>;
  matches: Record<string, { success?: boolean }>;
}

/** What Artillery hands to engines of its own internals. */
export interface Helpers {
  template(value: unknown, context: Context): unknown;
  captureOrMatch(
    params: { capture?: unknown; match?: unknown },
    response: { body: unknown },
    context: Context,
    done: (error: unknown, result: Outcome | null) => void,
  ): void;
}

export type ScenarioFunction = (context: Context, callback: (error: unknown, context: Context) => void) => void;

/** @returns whether the scenario, or hook, runs on this engine */
export function usesThisEngine(scenario: Scenario | undefined, script: Script): boolean {
  return scenario !== undefined && (scenario.engine ?? script.config.engine) === ENGINE_NAME;
}
