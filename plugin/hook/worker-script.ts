/** What the plugin changes in a worker's own script, before Artillery builds the engines from it. */
import { ENGINE, type Script, withGivenOptions } from '../script/script.ts';
import { type WorkerSettings, withTarget } from '../script/settings.ts';
import { runOnExternalEngine } from './external-engine.ts';

export function adjustWorkerScript(script: Script, settings: WorkerSettings, testRunId: string): void {
  script.config = withTarget(script, settings.target, settings.tls).config;
  // Even if a third-party engine drives the load, ours delays the arrivals until the baseline has been read.
  script.config.engines = { [ENGINE]: {}, ...withGivenOptions(script, settings.given).config.engines };
  if (settings.external) runOnExternalEngine(script, settings.engine, testRunId);
}
