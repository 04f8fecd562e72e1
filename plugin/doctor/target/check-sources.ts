/** Opens the configured sources of memory and CPU figures in the same way as a run. */
import { INSPECTION_METHODS } from '../../../protocol/documents/server-runtimes.ts';
import { countText } from '../../../report/text/format.ts';
import { connectInspectors, openOwnServer, type RunTarget } from '../../run/target/target.ts';
import { PageTargets, RedisReader } from '../../samplers/index.ts';
import { hasProcessSources, metricsPagesOf, sourcesByLayer } from '../../script/options/worker-sources.ts';
import type { Settings } from '../../script/settings.ts';
import { runTargetCheck, type TargetCheck } from './target-check.ts';

export async function checkWorkerSources(settings: Settings): Promise<TargetCheck[]> {
  const { workerSources: { inspect } = {}, redisUrl } = settings;
  const { checks, target } = await checkProcesses(settings);
  if (inspect && (target || inspect !== true)) checks.push(await checkInspectors(inspect, target));
  if (redisUrl !== undefined) checks.push(await checkRedis(redisUrl));
  return [...checks, ...(await checkMetricsPages(settings))];
}

/** Returns the results of the checks, and the target if the settings name processes and all of them exist. */
async function checkProcesses(settings: Settings): Promise<{ checks: TargetCheck[]; target?: RunTarget }> {
  const layers = Object.entries(sourcesByLayer(settings)).flatMap(([layer, source]) =>
    hasProcessSources(source) ? [layer] : [],
  );
  if (layers.length === 0) return { checks: [] };
  let target: RunTarget | undefined;
  const examined = await runTargetCheck('processes', `the processes of ${layers.join(' and ')}`, async () => {
    target = await openOwnServer(settings);
    const pids = await target.pids([]);
    return { status: 'ok', found: layers.map((layer) => `${layer}: ${pids[layer]?.join(', ')}`).join('; ') };
  });
  return { checks: [examined], ...(target && { target }) };
}

function checkInspectors(
  inspect: true | string[],
  target: Pick<RunTarget, 'pids'> = NO_PROCESSES,
): Promise<TargetCheck> {
  return runTargetCheck('inspector', 'memory at rest of the workers', async () => {
    const inspectors = await connectInspectors(inspect, target);
    await inspectors.close();
    return {
      status: 'ok',
      found: `${INSPECTION_METHODS[inspectors.runtime].by} reads ${countText(inspectors.size, 'process')}`,
    };
  });
}

const NO_PROCESSES: Pick<RunTarget, 'pids'> = { pids: async () => ({}) };

/** Checks the adapter's Redis. A failure is only a warning, because a run continues without Redis's figures. */
function checkRedis(url: string): Promise<TargetCheck> {
  const redis = new RedisReader(url);
  return runTargetCheck('redis', `INFO of ${redis.name}`, async () => {
    await redis.ready();
    const { absence } = redis;
    redis.close();
    if (!absence) return { status: 'ok', found: 'readable' };
    return { status: 'warning', found: absence.detail, fix: absence.fix };
  });
}

export function checkMetricsPages(settings: Pick<Settings, 'workerSources' | 'layers'>): Promise<TargetCheck[]> {
  const pages = Object.entries(sourcesByLayer(settings)).flatMap(([layer, sources]) =>
    metricsPagesOf(sources).map((query) => ({ layer, query })),
  );
  return Promise.all(
    pages.map(({ layer, query }) => {
      const examine = async () => {
        const { figures } = await (await PageTargets.open([query])).read();
        const bytes = Object.entries(figures).filter(([figure]) => figure.endsWith('Bytes'));
        const found = bytes.map(([figure, value]) => `${figure.replace('Bytes', '')} ${Math.round(value / 1e6)} MB`);
        return { status: 'ok' as const, found: found.join(', ') || 'counters of events alone' };
      };
      return runTargetCheck('metrics', `the metrics of ${layer} at ${query.url}`, examine, 'curl it from this machine');
    }),
  );
}
