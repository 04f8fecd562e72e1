/** The sections that a run cannot know; the others are not affected. */
import { addSnapshots } from '../../protocol/link/add-snapshots.ts';
import type { Result } from '../../protocol/result/result.ts';
import type { Measurements } from '../run/measurements/measurements.ts';
import { ENGINE } from '../script/script.ts';
import { sum } from './sums.ts';

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

const RESTORED =
  'connections came back with restored sessions: these do not join again, so nothing names the worker that holds them';

/** @returns why latencies within a worker and across workers cannot be told apart; undefined if they can */
export function whyNotPlaced({ frozen, sent, snapshots, ownEvent, observations }: Measurements): string | undefined {
  if (ownEvent) return undefined;
  if (observations.has('joinsMisnamed'))
    return 'acknowledgements of `join_room` name other workers than those that count the connections';
  if (!frozen.some(({ unplaced }) => unplaced) && sent.every(({ worker }) => worker !== '')) return undefined;
  const { returns, connected, perWorker } = addSnapshots(snapshots);
  if (returns.recovered > 0) return RESTORED;
  const named = sum(Object.values(perWorker));
  return `the server named no worker in its acknowledgement of \`join_room\` for ${connected - named} of ${connected} connections`;
}
