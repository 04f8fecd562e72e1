/** The pages of metrics of a scenario: reachable, and with figures of their layer. */
import type { CapacityError } from '../../../protocol/errors.ts';
import { PrometheusTargets } from '../../samplers/index.ts';
import { sourcesByLayer } from '../../script/options/worker-sources.ts';
import type { Settings } from '../../script/settings.ts';
import type { TargetCheck } from './target-check.ts';

export function checkMetrics(settings: Pick<Settings, 'workerSources' | 'layers'>): Promise<TargetCheck[]> {
  const pages = Object.entries(sourcesByLayer(settings)).flatMap(([layer, { prometheus = [] }]) =>
    prometheus.map((query) => ({ layer, query })),
  );
  return Promise.all(
    pages.map(async ({ layer, query }): Promise<TargetCheck> => {
      const check = { name: 'metrics' as const, tried: `the metrics of ${layer} at ${query.url}` };
      try {
        const { figures } = await (await PrometheusTargets.open([query])).read();
        const bytes = Object.entries(figures).filter(([figure]) => figure.endsWith('Bytes'));
        const found = bytes.map(([figure, value]) => `${figure.replace('Bytes', '')} ${Math.round(value / 1e6)} MB`);
        return { ...check, status: 'ok', found: found.join(', ') };
      } catch (error) {
        const { message, fix = 'curl it from this machine' } = error as CapacityError;
        return { ...check, status: 'failed', found: message, fix };
      }
    }),
  );
}
