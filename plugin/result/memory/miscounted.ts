/** Memory without bytes per connection: it is unknown to how many connections it belongs, or to which. */

import type { ReasonCode } from '../../../protocol/codes/verdict-reasons.ts';
import type { Result } from '../../../protocol/result/result.ts';
import type { Measurements } from '../../run/measurements/measurements.ts';
import { unknownWorkers } from '../reasons/workers.ts';

type Memory = Result['memory'];

/** The connections are not those of the generator alone, or the memory is not that of all workers, each once, now. */
const MISCOUNTED: ReasonCode[] = ['WORKERS_DISAGREE', 'WORKER_URLS_WRONG'];

/** @returns the figures, with a doubt of each slope if the run found the counts to be wrong */
export function doubtMiscounted(memory: Memory, measurements: Measurements): Memory {
  const isWrong = measurements.warnings.some(({ code }) => MISCOUNTED.includes(code));
  if (!isWrong && Object.keys(unknownWorkers(measurements)).length === 0) return memory;
  const { perConnectionBytes, inService } = memory;
  return {
    ...memory,
    perConnectionBytes: doubted(perConnectionBytes),
    inService: inService && { ...inService, perConnectionBytes: doubted(inService.perConnectionBytes) },
    sum: null,
  };
}

function doubted<S extends object>(slopes: Record<string, S>): Record<string, S & { doubt: 'miscounted' }> {
  return Object.fromEntries(
    Object.entries(slopes).map(([layer, slope]) => [layer, { ...slope, doubt: 'miscounted' as const }]),
  );
}
