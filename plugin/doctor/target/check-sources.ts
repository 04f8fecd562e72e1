/** Opens the configured sources of memory and CPU figures like a run. */
import { INSPECTED } from '../../../protocol/documents/server-runtimes.ts';
import { counted } from '../../../report/text/format.ts';
import { connectInspectors, ownServer, type Target } from '../../run/target/target.ts';
import { PageTargets, RedisReader } from '../../samplers/index.ts';
import { isNamed, metricsPagesOf, sourcesByLayer } from '../../script/options/worker-sources.ts';
import type { Settings } from '../../script/settings.ts';
import { check, type TargetCheck } from './target-check.ts';

export async function checkSources(settings: Settings): Promise<TargetCheck[]> {
  const { workerSources: { inspect } = {}, redisUrl } = settings;
  const { checks, target } = await checkProcesses(settings);
  if (inspect && (target || inspect !== true)) checks.push(await checkInspectors(inspect, target));
  if (redisUrl !== undefined) checks.push(await checkRedis(redisUrl));
  return [...checks, ...(await checkMetrics(settings))];
}

/** Returns the checks, and the target if the settings name processes and all of them exist. */
async function checkProcesses(settings: Settings): Promise<{ checks: TargetCheck[]; target?: Target }> {
  const layers = Object.entries(sourcesByLayer(settings)).flatMap(([layer, source]) =>
    isNamed(source) ? [layer] : [],
  );
  if (layers.length === 0) return { checks: [] };
  let target: Target | undefined;
  const examined = await check('processes', `the processes of ${layers.join(' and ')}`, async () => {
    target = await ownServer(settings);
    const pids = await target.pids([]);
    return { status: 'ok', found: layers.map((layer) => `${layer}: ${pids[layer]?.join(', ')}`).join('; ') };
  });
  return { checks: [examined], ...(target && { target }) };
}

function checkInspectors(inspect: true | string[], target: Pick<Target, 'pids'> = NO_PROCESSES): Promise<TargetCheck> {
  return check('inspector', 'memory at rest of the workers', async () => {
    const inspectors = await connectInspectors(inspect, target);
    await inspectors.close();
    return { status: 'ok', found: `${INSPECTED[inspectors.runtime].by} reads ${counted(inspectors.size, 'process')}` };
  });
}

const NO_PROCESSES: Pick<Target, 'pids'> = { pids: async () => ({}) };

/** A failure is only a warning, because a run continues without these figures. */
function checkRedis(url: string): Promise<TargetCheck> {
  const redis = new RedisReader(url);
  return check('redis', `INFO of ${redis.name}`, async () => {
    await redis.ready();
    const { absence } = redis;
    redis.close();
    if (!absence) return { status: 'ok', found: 'readable' };
    return { status: 'warning', found: absence.detail, fix: absence.fix };
  });
}

export function checkMetrics(settings: Pick<Settings, 'workerSources' | 'layers'>): Promise<TargetCheck[]> {
  const pages = Object.entries(sourcesByLayer(settings)).flatMap(([layer, sources]) =>
    metricsPagesOf(sources).map((query) => ({ layer, query })),
  );
  return Promise.all(
    pages.map(({ layer, query }) => {
      const examine = async () => {
        const { figures } = await (await PageTargets.open([query])).read();
        const bytes = Object.entries(figures).filter(([figure]) => figure.endsWith('Bytes'));
        const found = bytes.map(([figure, value]) => `${figure.replace('Bytes', '')} ${Math.round(value / 1e6)} MB`);
        return { status: 'ok' as const, found: found.join(', ') };
      };
      return check('metrics', `the metrics of ${layer} at ${query.url}`, examine, 'curl it from this machine');
    }),
  );
}
