/** Which part of the whole run's connections a process has, or a fleet, that knows its part on this host. */
import type { FleetSettings } from '../messages.ts';

interface Share {
  index: number;
  of: number;
}

export function amongHosts({ index, of }: Share, { host }: Pick<FleetSettings, 'host'>): Share {
  return host ? { index: host.index * of + index, of: of * host.of } : { index, of };
}
