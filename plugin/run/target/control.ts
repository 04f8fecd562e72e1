/** What a run asks of the server's workers, through their control ports; of a server without any, nothing. */
import type { ControlClients } from '../../samplers/index.ts';
import type { Settings } from '../../script/settings.ts';

export type Control = Omit<ControlClients, 'time'>;

const nobody = async (): Promise<never> => {
  throw new Error('no control port');
};

export const NO_CONTROL: Control = {
  size: 0,
  stats: async () => [],
  statsOfUp: async () => [],
  failures: () => [],
  resources: async () => [],
  batches: async () => [],
  eventLoops: async () => [],
  gc: async () => {},
  clock: nobody,
  members: async () => 0,
  servers: async () => undefined,
  addresses: async () => ({}),
  reachable: (via) => via,
  broadcast: nobody,
  close: () => {},
};

/** @returns the settings without everything that workers would have to be asked for; memory that nobody reads needs no warm-up */
export function withoutControl(config: Settings): Settings {
  const warmUp = config.workerSources ? config.warmUp : 0;
  return { ...config, warmUp, singleRoundTrips: 0, broadcasts: { ...config.broadcasts, count: 0 } };
}
