/** What the plugin changes in a worker's own script, before Artillery builds the engines from it. */
import { handedOver } from '../script/handed-over.ts';
import { ENGINE, type Script } from '../script/script.ts';
import { runOnExternalEngine } from './external-engine.ts';

export function adjustWorkerScript(script: Script, testRunId: string): void {
  const { target, tls, engine, external } = handedOver();
  const { config } = script;
  config.target = target;
  if (tls) config.tls = { ...(config.tls as object | undefined), rejectUnauthorized: false };
  // Even if a third-party engine drives the load, ours delays the arrivals until the baseline has been read.
  config.engines = { [ENGINE]: {}, ...config.engines };
  if (external) runOnExternalEngine(script, engine, testRunId);
}
