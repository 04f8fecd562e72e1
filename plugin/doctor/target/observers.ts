/** The observers of a scenario: reachable, with this token, and of the layer that it says. */
import type { CapacityError } from '../../../protocol/errors.ts';
import { ObserverClients } from '../../samplers/index.ts';
import type { ObserverSettings } from '../../script/settings.ts';
import type { TargetCheck } from './target-check.ts';

export function checkObservers(settings: ObserverSettings | undefined): Promise<TargetCheck[]> {
  if (!settings) return Promise.resolve([]);
  const { each, token, tls } = settings;
  return Promise.all(
    each.map(async (query): Promise<TargetCheck> => {
      const check = { name: 'observer' as const, tried: `the observer of ${query.layer} at ${query.url}` };
      try {
        const clients = await ObserverClients.open([query], token, tls);
        const reading = clients.read(query.layer, true);
        const { rssBytes, pssBytes } = await reading.finally(() => clients.close());
        const found = `${Math.round(rssBytes / 1e6)} MB of RSS`;
        if (pssBytes !== undefined) return { ...check, status: 'ok', found };
        return {
          ...check,
          status: 'warning',
          found: `${found}, no PSS`,
          fix: "run it as the processes' user, or as root",
        };
      } catch (error) {
        const { message, fix = 'see what it prints on its host' } = error as CapacityError;
        return { ...check, status: 'failed', found: message, fix };
      }
    }),
  );
}
