/** What the plugin changes in a worker's own script, before Artillery builds the engines from it. */
import { handedOver } from '../script/handed-over.ts';
import { invalidSettings } from '../script/invalid-settings.ts';
import { unfilledIn } from '../script/options/check-config.ts';
import { ENGINE, type Script } from '../script/script.ts';
import { runOnExternalEngine } from './external-engine.ts';

export function adjustWorkerScript(script: Script, testRunId: string): void {
  const { target, tls, engine, external } = handedOver();
  const { config } = script;
  // The main thread has a copy by way of JSON, in which what a template left empty is missing.
  const unfilled = unfilledIn(config.engines?.[ENGINE] ?? {}, ['config', 'engines', ENGINE]);
  if (unfilled.length > 0) throw invalidSettings(unfilled);
  config.target = target;
  if (tls) config.tls = { ...(config.tls as object | undefined), rejectUnauthorized: false };
  // Even if a third-party engine drives the load, ours delays the arrivals until the baseline has been read.
  config.engines = { [ENGINE]: {}, ...config.engines };
  if (external) runOnExternalEngine(script, engine, testRunId);
}
