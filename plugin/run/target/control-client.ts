/** What a run asks of the server's workers, through their control ports; of a server without any, nothing. */
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import type { WorkerStats } from '../../../protocol/wire/events.ts';
import { type ControlClients, UnansweredRequest } from '../../samplers/index.ts';
import type { Settings } from '../../script/settings.ts';
import { CONTROL_PORT, noteAbsent } from '../measurements/absent-sources.ts';
import type { Measurements } from '../measurements/measurements.ts';

export type Control = Omit<ControlClients, 'time' | 'refusal'>;

/** Forces garbage collections in the workers, and counts those that each of them has made. */
export interface Collector extends Pick<Control, 'gc'> {
  stats(): Promise<Pick<WorkerStats, 'worker' | 'collections'>[]>;
}

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

/**
 * The same control ports, until a worker no longer lets the run in: then none is asked for what only all of them together can
 * answer, as of a server without control ports. Workers that do let the run in still publish.
 */
export function whilePermitted(
  control: ControlClients,
  { absentSources }: Pick<Measurements, 'absentSources'>,
): Control {
  /** A lost connection is a refusal if the next attempt is refused. @param isRead what may have been carried out stays unanswered */
  async function orRefusal<T>(ask: () => Promise<T>, isRead = true): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      const why = await control.refusal();
      if (!why) throw error;
      const absence = { reason: 'refused' as const, detail: why.message, sinceUs: monotonicUs(), fix: why.fix };
      noteAbsent({ absentSources }, CONTROL_PORT, absence);
      throw error instanceof UnansweredRequest && !isRead ? error : why;
    }
  }
  async function unlessRefused<T>(ask: () => Promise<T>, otherwise: T): Promise<T> {
    if (absentSources.has(CONTROL_PORT)) return otherwise;
    try {
      return await orRefusal(ask);
    } catch (error) {
      if (absentSources.has(CONTROL_PORT)) return otherwise;
      throw error;
    }
  }
  return {
    size: control.size,
    stats: (timeoutMs) => unlessRefused(() => control.stats(timeoutMs), []),
    statsOfUp: () =>
      unlessRefused(async () => {
        const all = await control.statsOfUp();
        if (all.includes(undefined) && (await control.refusal())) throw new Error('a worker refuses the run');
        return all;
      }, []),
    failures: () => control.failures(),
    resources: () => unlessRefused(() => control.resources(), []),
    batches: () => unlessRefused(() => control.batches(), []),
    gc: () => unlessRefused(() => control.gc(), undefined),
    servers: () => unlessRefused(() => control.servers(), undefined),
    eventLoops: (record) => control.eventLoops(record),
    clock: (via) => orRefusal(() => control.clock(via)),
    members: (room, via) => control.members(room, via),
    addresses: () => control.addresses(),
    reachable: (via) => control.reachable(via),
    broadcast: (order, via, timeoutMs) => orRefusal(() => control.broadcast(order, via, timeoutMs), false),
    close: () => control.close(),
  };
}

/** @returns the settings without everything that workers would have to be asked for; memory that nobody reads needs no warm-up */
export function withoutControl(config: Settings): Settings {
  const warmUp = config.workerSources ? config.warmUp : 0;
  return { ...config, warmUp, singleRoundTrips: 0, broadcasts: { ...config.broadcasts, count: 0 } };
}
