/** Evaluates the thresholds of `ensure` with the combined metrics of all hosts, using Artillery's own plugin. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import type { Result } from '../../../protocol/result/result.ts';
import { addMetrics, thresholdsOf } from '../../result/artillery-metrics.ts';
import type { ArtilleryStats, EnsureCheck } from '../../result/artillery-stats.ts';
import { ensureSettings, hasThresholds } from '../../script/ensure.ts';
import type { Script } from '../../script/script.ts';
import { type HostTotals, loadTotalsMerge } from './host-totals.ts';

/** Path of the plugin `ensure` within Artillery's package (2.0.34). */
const PLUGIN = 'dist/builtin-packages/artillery-plugin-ensure/dist/plugin.js';

interface EnsurePlugin {
  statsToVars(data: { report: ArtilleryStats }): object;
  runChecks(settings: object, variables: object): EnsureCheck[];
}

/**
 * Evaluates the thresholds.
 * @param hosts Artillery's metrics of each host; undefined for a host that sent none
 */
type Evaluate = (result: Result, hosts: readonly (HostTotals | undefined)[]) => Result['thresholds'];

/**
 * Loads the `ensure` plugin from Artillery.
 * @param artillery folder of Artillery's package
 * @returns undefined for a scenario without thresholds
 * @throws CapacityError NOT_INSTALLED if the plugin cannot be loaded
 */
export async function loadEnsureEvaluation(script: Script, artillery: string): Promise<Evaluate | undefined> {
  if (!hasThresholds(script) || process.env.ARTILLERY_DISABLE_ENSURE !== undefined) return undefined;
  const [, settings] = ensureSettings(script);
  const { plugin, merge } = await load(artillery);
  return (result, hosts) => {
    // Leaves out Artillery's own metrics if the metrics of one host are missing, because a sum over the other hosts
    // would be wrong.
    const available = hosts.flatMap((totals) => totals ?? []);
    const stats = merge(available.length === hosts.length ? available : []);
    addMetrics(stats, result);
    const checks = plugin.runChecks(settings, plugin.statsToVars({ report: stats }));
    return thresholdsOf(checks, stats);
  };
}

async function load(artillery: string) {
  try {
    const { Plugin } = await import(pathToFileURL(join(artillery, PLUGIN)).href);
    const plugin = Plugin as EnsurePlugin;
    // Artillery's plugin logs each evaluation through this global variable.
    Object.assign(globalThis, { artillery: { ...Reflect.get(globalThis, 'artillery'), log: () => {} } });
    plugin.runChecks({}, plugin.statsToVars({ report: { counters: {}, rates: {}, summaries: {} } }));
    return { plugin, merge: await loadTotalsMerge(artillery) };
  } catch (cause) {
    const message = `the plugin \`ensure\` of Artillery in ${artillery} cannot be used`;
    throw new CapacityError('NOT_INSTALLED', message, 'install Artillery 2.0.34 beside the plugin', { cause });
  }
}
