/**
 * Answers that all sources of one memory reading share. Each answer is requested at most once, when a source first
 * needs it.
 */
import { onlyOnce } from '../../protocol/base/only-once.ts';
import type { InspectedRuntime } from '../../protocol/documents/server-runtimes.ts';
import { describeAbsence, NotInRunError, SourceAbsentError } from './absence.ts';
import type { ControlClients } from './control/control-workers.ts';
import type { Inspectors } from './inspector/inspectors.ts';
import type { ProcessReading } from './processes/proc.ts';
import type { LayerPids } from './processes/process-memory.ts';
import type { PageTargets } from './prometheus/targets.ts';
import type { RedisReader } from './redis/redis-sampler.ts';

/** Connections through which a run reads figures. The code that opened them closes them. */
export interface FigureReaders {
  redis?: Pick<RedisReader, 'read' | 'failures' | 'absence' | 'name'> | undefined;
  workers?: Pick<ControlClients, 'stats' | 'resources'> | undefined;
  inspectors?: Pick<Inspectors, 'memory' | 'runtime'> | undefined;
  prometheus?: Record<string, Pick<PageTargets, 'read' | 'failures'>>;
}

export type SamplerInputs = ReturnType<typeof createSamplerInputs>;

/**
 * Returns functions that request the shared answers. Each function rejects with the reason if the answer is missing.
 * @param pids processes by layer
 * @param processes readings of all these processes
 */
export function createSamplerInputs(
  pids: LayerPids,
  processes: Map<number, ProcessReading>,
  { redis, workers, inspectors, prometheus = {} }: FigureReaders,
) {
  const pages = Object.fromEntries(
    Object.entries(prometheus).map(([layer, targets]) => [layer, onlyOnce(() => targets.read())]),
  );
  const inspected = onlyOnce(async () => (await inspectors?.memory()) ?? []);
  return {
    pids,
    processes,
    redis: onlyOnce(async () => {
      const reader = given(redis, 'no Redis in this run');
      const reading = await reader.read();
      if (reading) return reading;
      const absence = given(reader.absence, 'no Redis in this run');
      throw new SourceAbsentError(absence.reason, describeAbsence(reader.name, absence), absence);
    }),
    stats: onlyOnce(async () => given(workers, NO_CONTROL).stats()),
    /**
     * Reads the memory of processes through their runtime.
     * @param runtime required runtime of the processes
     */
    inspected: async (runtime: InspectedRuntime) => {
      const reader = given(inspectors, 'no inspector in this run');
      if (reader.runtime !== runtime) throw new NotInRunError('its processes have another runtime');
      return inspected();
    },
    resources: onlyOnce(async () => given(workers, NO_CONTROL).resources()),
    /** Sums the figures of a layer's metrics pages. */
    pages: async (layer: string) => given(pages[layer], 'no metrics pages of this layer')(),
  };
}

const NO_CONTROL = 'no control connection to the workers';

function given<T>(reader: T | undefined, why: string): T {
  if (reader) return reader;
  throw new NotInRunError(why);
}
