/**
 * Sends a run's requests to the workers' control ports and retries them. Returns empty answers if the server has no
 * control ports or refuses the run.
 */
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import type { WorkerStats } from '../../../protocol/wire/events.ts';
import {
  absenceOf,
  absenceReasonOf,
  type ControlClients,
  SourceAbsentError,
  UnansweredRequestError,
} from '../../samplers/index.ts';
import type { Settings } from '../../script/settings.ts';
import { CONTROL_PORT, recordAbsentSource } from '../measurements/absent-sources.ts';
import type { Measurements } from '../measurements/measurements.ts';
import { MAX_DEADLINES } from '../wait.ts';

export type WorkerControl = Omit<ControlClients, 'time' | 'refusal' | 'reconnected' | 'startProfiles' | 'takeProfiles'>;

/** Forces garbage collections in the workers, and reads how many collections each worker has made. */
export interface GarbageCollector extends Pick<WorkerControl, 'gc'> {
  /** `failure`: why a worker made no garbage collection. */
  stats(): Promise<(Pick<WorkerStats, 'worker' | 'collections'> & { failure?: string | undefined })[]>;
}

/** Minimum time to wait for an answer of a worker, even if the drain is shorter. */
const MIN_WAIT_SECONDS = 5;
/** Time in milliseconds that an aborted run waits for an answer. */
const STOP_TIMEOUT_MS = 1000;

const rejects = async (): Promise<never> => {
  throw new Error('no control port');
};

export const NO_CONTROL: WorkerControl = {
  size: 0,
  stats: async () => [],
  statsOfUp: async () => [],
  failures: () => [],
  resources: async () => [],
  batches: async () => [],
  eventLoops: async () => [],
  gc: async () => {},
  clock: rejects,
  members: async () => 0,
  servers: async () => undefined,
  addresses: async () => ({}),
  reachable: (via) => via,
  broadcast: rejects,
  close: () => {},
};

interface WaitOptions {
  config: { drain: Pick<Settings['drain'], 'deadline'> };
  signal: AbortSignal;
}

/**
 * Wraps the control ports. If a worker refuses the run or does not answer, all further requests return empty answers,
 * as for a server without control ports, because incomplete answers would give wrong sums. The other workers still
 * publish. During measurements, requests are repeated for as long as the drain may last, because a worker may only be
 * blocked. Requests with a timeout from the caller are sent once.
 */
export function tolerateRefusedControl(
  control: ControlClients,
  measurements: Pick<Measurements, 'absentSources' | 'samplesBeganAtUs'>,
  { config, signal }: WaitOptions,
): WorkerControl {
  const { absentSources } = measurements;
  type Ask<T> = (timeoutMs?: number) => Promise<T>;

  /**
   * Repeats a request until the worker answers.
   * @throws SourceAbsentError if the worker does not answer within the longest drain
   */
  async function withRetries<T>(ask: Ask<T>, isRepeatable = true): Promise<T> {
    if (measurements.samplesBeganAtUs === undefined || absentSources.has(CONTROL_PORT) || signal.aborted)
      return await ask();
    const sinceUs = monotonicUs();
    const endUs = sinceUs + Math.max(MIN_WAIT_SECONDS, MAX_DEADLINES * config.drain.deadline) * 1e6;
    const leftMs = () => Math.max(1, Math.ceil((endUs - monotonicUs()) / 1000));
    for (;;) {
      try {
        return await ask(leftMs());
      } catch (error) {
        if (signal.aborted || absenceReasonOf(error) !== 'unanswered') throw error;
        const isLost = error instanceof UnansweredRequestError && !isRepeatable;
        if (!isLost && (await control.reconnected(leftMs())) && monotonicUs() < endUs) continue;
        if (!isLost && monotonicUs() < endUs) throw error;
        const { message, fix } = new CapacityError('CONTROL_TIMEOUT', (error as Error).message);
        throw new SourceAbsentError('unanswered', message, { sinceUs, fix });
      }
    }
  }

  /**
   * Sends a request. If the connection to the worker is lost and a new connection is refused, the worker counts as
   * refusing the run.
   * @param isRead false for a request that the worker may have carried out without answering
   */
  async function orRefusal<T>(ask: () => Promise<T>, isRead = true): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      if (error instanceof SourceAbsentError) throw error;
      const why = await control.refusal();
      if (!why) throw error;
      const absent = new SourceAbsentError('refused', why.message, { sinceUs: monotonicUs(), fix: why.fix });
      recordAbsentSource({ absentSources }, CONTROL_PORT, absenceOf(absent));
      throw error instanceof UnansweredRequestError && !isRead ? error : absent;
    }
  }

  /**
   * Reads statistics from the workers.
   * @param source name of the source to record as unreadable if there is no answer
   */
  async function read<T>(ask: Ask<T>, source = CONTROL_PORT): Promise<T> {
    try {
      return await orRefusal(() => orStopped(withRetries(ask, source === CONTROL_PORT), signal));
    } catch (error) {
      if (error instanceof SourceAbsentError && error.reason === 'unanswered')
        recordAbsentSource({ absentSources }, source, absenceOf(error));
      throw error;
    }
  }

  async function orElse<T>(otherwise: T, ask: () => Promise<T>): Promise<T> {
    if (absentSources.has(CONTROL_PORT)) return otherwise;
    try {
      return await ask();
    } catch (error) {
      if (error instanceof SourceAbsentError || absentSources.has(CONTROL_PORT)) return otherwise;
      throw error;
    }
  }

  return {
    size: control.size,
    stats: (timeoutMs) =>
      orElse([], () => (timeoutMs === undefined ? read((ms) => control.stats(ms)) : control.stats(timeoutMs))),
    statsOfUp: () =>
      orElse([], () =>
        orRefusal(async () => {
          const all = await control.statsOfUp();
          if (all.includes(undefined) && (await control.refusal())) throw new Error('a worker refuses the run');
          return all;
        }),
      ),
    failures: () => control.failures(),
    resources: () => orElse([], () => read((ms) => control.resources(ms))),
    // Sent only once: each answer has the counts since the previous answer, so a repetition would lose counts.
    batches: () => orElse([], () => read((ms) => control.batches(ms), 'the count of batches of a control port')),
    gc: () => orElse(undefined, () => read((ms) => control.gc(ms))),
    servers: () => orElse(undefined, () => read((ms) => control.servers(ms))),
    eventLoops: (record) => control.eventLoops(record),
    clock: (via, timeoutMs) =>
      timeoutMs === undefined ? read((ms) => control.clock(via, ms)) : control.clock(via, timeoutMs),
    members: (room, via) => read((ms) => control.members(room, via, ms)),
    addresses: () => control.addresses(),
    reachable: (via) => control.reachable(via),
    broadcast: (order, via, timeoutMs) => orRefusal(() => control.broadcast(order, via, timeoutMs), false),
    close: () => control.close(),
  };
}

/**
 * Waits for an answer.
 * @throws the signal's reason if there is no answer soon after an abort
 */
async function orStopped<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  let timer: NodeJS.Timeout | undefined;
  const stop = () => {
    timer = setTimeout(() => reject(signal.reason), STOP_TIMEOUT_MS);
  };
  signal.addEventListener('abort', stop);
  try {
    return await Promise.race([promise, stopped]);
  } finally {
    signal.removeEventListener('abort', stop);
    clearTimeout(timer);
  }
}

/**
 * Returns the settings for a server without control ports: without the measurements that need them, and without a
 * warm-up if memory is not read.
 */
export function settingsWithoutControl(config: Settings): Settings {
  const warmUp = config.workerSources ? config.warmUp : 0;
  return { ...config, warmUp, singleRoundTrips: 0, broadcasts: { ...config.broadcasts, count: 0 } };
}
