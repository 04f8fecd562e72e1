/** The settings of a scenario, with the mistakes that Artillery would run it with, for commands that do not run it. */
import { runMetrics } from '../result/run-metrics.ts';
import { thresholdProblems } from '../script/ensure.ts';
import { WHOLE } from '../script/load/shares.ts';
import { measuringProblems } from '../script/measured.ts';
import type { Script } from '../script/script.ts';
import { readSettings, type Settings } from '../script/settings.ts';
import { METRICS } from '../virtual-user/metrics.ts';
import { STEPS } from '../virtual-user/steps/index.ts';

/** @throws CapacityError as `readSettings` */
export function settingsOf(script: Script, env: NodeJS.ProcessEnv = process.env): Settings {
  const metrics = [...runMetrics(), ...Object.values(METRICS)];
  const mistakes = [...measuringProblems(script), ...thresholdProblems(script, metrics)];
  return readSettings(script, STEPS, env, WHOLE, mistakes);
}
