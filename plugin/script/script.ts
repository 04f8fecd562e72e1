/** The parts of an Artillery script that this project reads. Artillery publishes no types for it. */

/** Key of the engine in `config.engines`, and the value of a scenario's `engine`. */
export const ENGINE = 'socketio-capacity';
/** Key of the plugin in `config.plugins`. */
export const PLUGIN = 'socketio-capacity';

export interface Script {
  config: {
    target?: string;
    engine?: string;
    engines?: Record<string, unknown>;
    plugins?: Record<string, unknown>;
    phases?: ScriptPhase[];
    /** Path in the main thread; in a worker, the module's functions by name. */
    processor?: string | Record<string, unknown>;
    defaults?: { think?: { jitter?: number | string } };
    [key: string]: unknown;
  };
  scenarios?: Scenario[];
  before?: Scenario;
  after?: Scenario;
  /** Absolute path of the scenario's file. */
  _scriptPath?: string;
  /** A processor in TypeScript, which Artillery compiles into another file. */
  __originalProcessor?: string;
  /** The chosen key of `config.environments`, if any. */
  _environment?: string;
}

type PhaseKey = 'duration' | 'pause' | 'arrivalRate' | 'rampTo' | 'arrivalCount' | 'maxVusers';

/** A phase as the user wrote it; in a worker, the worker's share of it. */
export interface ScriptPhase extends Partial<Record<PhaseKey, number | string>> {
  /** Number of workers; set in a worker only. */
  totalWorkers?: number;
  /** Number of the worker, from 1. */
  worker?: number;
}

/** Keys of a scenario that name functions of the processor. The last three are called for its HTTP requests. */
export const FUNCTION_HOOKS = ['beforeScenario', 'afterScenario', 'beforeRequest', 'afterResponse', 'onError'] as const;

export interface Scenario extends Partial<Record<(typeof FUNCTION_HOOKS)[number], string | string[]>> {
  name?: string;
  engine?: string;
  /** Share of the arrivals; a text can be a template. */
  weight?: number | string;
  flow?: unknown[];
  /** Connection options of this scenario's virtual users. */
  socketio?: unknown;
}

export function engineNameOf(scenario: Scenario, { config }: Script): string {
  return scenario.engine ?? config.engine ?? 'http';
}

export function usesOurEngine(scenario: Scenario, script: Script): boolean {
  return engineNameOf(scenario, script) === ENGINE;
}

/** Returns the engines of the scenarios. Artillery never chooses one of weight 0. */
export function enginesOf(script: Script): string[] {
  const used = (script.scenarios ?? []).filter(({ weight }) => Number(weight) !== 0);
  return [...new Set(used.map((scenario) => engineNameOf(scenario, script)))];
}
