/** The sections that a run cannot know; the others are not affected. */
import type { Result } from '../../protocol/result/result.ts';
import type { Measurements } from '../run/measurements/measurements.ts';
import { ENGINE } from '../script/script.ts';
import { whyNotPlaced } from './connections/placement.ts';

const takes = (option: string) => `that takes the option \`${option}\`, or \`instrument(io)\``;
const [NO_WORKERS, NO_DELIVERY] = [takes('workers'), takes('delivery')];
const NO_CONTROL = 'that takes `instrument(io)`';
const NO_BROADCASTS = 'connections came and went, and nothing was broadcast';
const NO_LEDGER = 'this engine does not report which broadcasts arrive';

export function absentSections(measurements: Measurements): Result['absent'] {
  const { engine, control, memory, ownEvent, overTime } = measurements;
  if (!control) {
    const echoed = { roundTrip: NO_CONTROL };
    const published = ownEvent ? echoed : { delivery: NO_DELIVERY, latency: NO_DELIVERY, ...echoed };
    return memory ? published : { memory: NO_WORKERS, cpu: NO_WORKERS, ...published };
  }
  if (overTime) return { delivery: NO_BROADCASTS, latency: NO_BROADCASTS };
  if (engine !== ENGINE) return { delivery: NO_LEDGER, latency: NO_LEDGER };
  const crossWorker = whyNotPlaced(measurements);
  return crossWorker === undefined ? {} : { crossWorker };
}
