/** The parts of an Artillery script that this tool reads. Artillery publishes no types for them. */

/** Name of the engine in `config.engines` and in the key `engine` of a scenario. */
export const ENGINE_NAME = 'socketio-capacity';
/** Name of the plugin in `config.plugins`. */
export const PLUGIN_NAME = 'socketio-capacity';

export interface Script {
  config: {
    target?: string;
    engine?: string;
    engines?: Record<string, unknown>;
    plugins?: Record<string, unknown>;
    phases?: ScriptPhase[];
    /** The script's processor: the path of its module in the main thread, its functions by name in a worker. */
    processor?: string | Record<string, unknown>;
    defaults?: { think?: { jitter?: number | string } };
    [key: string]: unknown;
  };
  scenarios?: Scenario[];
  before?: Scenario;
  after?: Scenario;
  /** Absolute path of the scenario's file. */
  _scriptPath?: string;
  /** Path of a processor in TypeScript. Artillery compiles it to another file. */
  __originalProcessor?: string;
  /** Key of `config.environments` that the user has chosen; undefined if none is chosen. */
  _environment?: string;
}

type PhaseKey = 'duration' | 'pause' | 'arrivalRate' | 'rampTo' | 'arrivalCount' | 'maxVusers';

/** A phase as the user has written it. In a worker, that worker's share of the phase. */
export interface ScriptPhase extends Partial<Record<PhaseKey, number | string>> {
  /** Number of Artillery's workers; set only in a worker. */
  totalWorkers?: number;
  /** Number of this worker, from 1; set only in a worker. */
  worker?: number;
}

/**
 * Keys of a scenario whose values name functions of the processor. The functions of the last three keys are called for
 * HTTP requests.
 */
export const FUNCTION_HOOKS = ['beforeScenario', 'afterScenario', 'beforeRequest', 'afterResponse', 'onError'] as const;

export interface Scenario extends Partial<Record<(typeof FUNCTION_HOOKS)[number], string | string[]>> {
  name?: string;
  engine?: string;
  /** Weight of the scenario when Artillery chooses one for a virtual user. Text can be a template. */
  weight?: number | string;
  flow?: unknown[];
  /** Connection options of this scenario's virtual users. */
  socketio?: unknown;
}

export function engineNameOf(scenario: Scenario, { config }: Script): string {
  return scenario.engine ?? config.engine ?? 'http';
}

export function usesOurEngine(scenario: Scenario, script: Script): boolean {
  return engineNameOf(scenario, script) === ENGINE_NAME;
}

/** Returns the names of the engines that run scenarios. Artillery never chooses a scenario of weight 0. */
export function engineNamesOf(script: Script): string[] {
  const used = (script.scenarios ?? []).filter(({ weight }) => Number(weight) !== 0);
  return [...new Set(used.map((scenario) => engineNameOf(scenario, script)))];
}
