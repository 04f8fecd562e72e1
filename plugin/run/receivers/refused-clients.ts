/** A server that lets none of the run's own clients in: what it then measures without, and how that is said. */
import type { Settings } from '../../script/settings.ts';
import { addWarning, type RunContext } from '../context.ts';
import type { Refused } from './official-client.ts';

type Said = Pick<RunContext, 'measurements' | 'record'> & { log: (text: string) => void };

/** @returns the settings of a run without clients of its own */
export function withoutClients(settings: Settings, { said, fix }: Refused, run: Said): Settings {
  const { control, delivery, warmUp, broadcasts } = settings;
  const publishes = delivery?.publish !== undefined;
  const lost = [
    ...(control ? ['round trips', 'reference receiver'] : []),
    ...(warmUp > 0 ? ['warm-up (its cost is in the memory per connection)'] : []),
    ...(publishes ? [`broadcasts of \`${delivery.event}\``] : []),
  ];
  const message = `the server refused the run’s own clients: ${said}`;
  if (lost.length === 0) run.log(`Note: ${message}. The load itself is not affected.`);
  else addWarning(run, 'CLIENTS_REFUSED', `${message}; the run does without ${lost.join(', ')}`, fix);
  const ofPublishers = publishes ? { delivery: undefined, broadcasts: { ...broadcasts, count: 0 } } : {};
  return { ...settings, warmUp: 0, singleRoundTrips: 0, ...ofPublishers };
}
