/** The Artillery script as far as the hook reads it, and what the hook changes in each worker's copy. */
import type { WorkerConfig } from '../script/plugin-options.ts';
import { runOnStockEngine } from './stock.ts';

export interface Script {
  config: {
    target?: string;
    phases?: unknown[];
    engine?: unknown;
    engines?: Record<string, unknown>;
    plugins?: Record<string, unknown>;
    tls?: { rejectUnauthorized?: boolean };
    /** In a worker the functions of the module, by name. */
    processor?: unknown;
    [key: string]: unknown;
  };
  scenarios?: Scenario[];
  _environment?: string;
}

export interface Scenario {
  name?: string;
  engine?: string;
  flow?: unknown[];
}

export const ENGINE = 'socketio-capacity';
export const PLUGIN = 'socketio-capacity';
/** In environment `stock` the pack's scenarios run on one of Artillery's own Socket.IO engines. */
export const STOCK_ENVIRONMENT = 'stock';

/** Changes a worker's own script, before Artillery builds the engines from it. */
export function adjustWorkerScript(script: Script, config: WorkerConfig, testRunId: string): void {
  script.config.target = config.target;
  // Also where another engine drives the load, ours keeps the arrivals back until the baseline is taken.
  script.config.engines = { [ENGINE]: {}, ...script.config.engines };
  if (config.stock) runOnStockEngine(script, config.engine, testRunId);
}
