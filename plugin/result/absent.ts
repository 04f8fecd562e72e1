/** Finds the sections of the result that a run could not measure. The sections that it could measure stay valid. */
import { addSnapshots } from '../../protocol/link/add-up.ts';
import type { Result } from '../../protocol/result/result.ts';
import type { Measurements } from '../run/measurements/measurements.ts';
import { ENGINE_NAME } from '../script/script.ts';
import type { Settings } from '../script/settings.ts';
import { sum } from './sums.ts';

const takes = (option: string) => `requires the option \`${option}\`, or \`instrument(io)\``;
const [NO_WORKERS, NO_DELIVERY] = [takes('workers'), takes('delivery')];
const NO_CONTROL = 'requires `instrument(io)`';
const NO_BROADCASTS = 'virtual users left during the load, and no broadcast was sent';
const NO_LEDGER = 'this engine does not report which broadcasts arrive';

/** Returns why each missing section was not measured: it was not requested, or an event of the run prevented it. */
export function absentSections(measurements: Measurements, settings: Pick<Settings, 'broadcasts'>): Result['absent'] {
  const { control, memory } = measurements;
  const isMeasured = control || memory;
  const readings = isMeasured ? whyNobody(measurements) : NO_WORKERS;
  const delivery = whyNoDelivery(measurements, settings);
  const roundTrip = control ? undefined : NO_CONTROL;
  const crossWorker = control && delivery === undefined ? whyLatencyNotSplit(measurements) : undefined;
  const memoryReadings = readings ?? whyNoMemory(measurements);
  const all = { memory: memoryReadings, cpu: readings, delivery, latency: delivery, roundTrip, crossWorker };
  return Object.fromEntries(Object.entries(all).filter(([, reason]) => reason !== undefined));
}

function whyNoDelivery(measurements: Measurements, { broadcasts }: Pick<Settings, 'broadcasts'>): string | undefined {
  const { engine, control, ownEvent, overTime, usersLeave, aborted, sent, observations } = measurements;
  const [refused] = observations.of('clientsRefused');
  if (!control && !ownEvent)
    return refused ? `the server refused the run’s own clients: ${refused.error}` : NO_DELIVERY;
  if (control && overTime && !usersLeave) return NO_BROADCASTS;
  if (control && engine !== ENGINE_NAME) return NO_LEDGER;
  if (broadcasts.count === 0) return undefined;
  if (aborted && sent.length === 0) return whyNobody(measurements) ?? 'the run ended before the broadcasts';
  return whyNobody(measurements);
}

/**
 * Returns a reason if no connection was open during the run; undefined if connections were open, or if this is unknown.
 */
function whyNobody({ snapshots }: Measurements): string | undefined {
  const opened = sum(snapshots.map(({ accounts }) => accounts.alive + sum(Object.values(accounts.ended))));
  const asked = sum(snapshots.map(({ accounts }) => accounts.asked));
  return asked > 0 && opened === 0 ? 'no connection was open' : undefined;
}

/**
 * Returns why memory was not measured; undefined if it was read while connections were open, or if the run has not
 * ended.
 */
function whyNoMemory({ plateaus, stages, overTime, fault }: Measurements): string | undefined {
  const hasEnded = stages.some(({ name }) => name === 'disconnect') && !overTime && !fault;
  return hasEnded && plateaus.length > 0 && plateaus.every(({ connections }) => connections === 0)
    ? 'no connection was open when memory was read'
    : undefined;
}

const RESTORED = 'connections reconnected with restored sessions and did not join again, so their workers are unknown';

/**
 * Returns why the run cannot separate latencies within a worker from latencies between workers; undefined if it can.
 */
export function whyLatencyNotSplit({
  frozen,
  sent,
  snapshots,
  ownEvent,
  observations,
}: Measurements): string | undefined {
  if (ownEvent) return undefined;
  if (observations.has('joinsMisnamed'))
    return 'acknowledgements of `join_room` name other workers than those that count the connections';
  if (!frozen.some(({ unplaced }) => unplaced) && sent.every(({ worker }) => worker !== '')) return undefined;
  const { returns, connected, perWorker } = addSnapshots(snapshots);
  if (returns.recovered > 0) return RESTORED;
  const named = sum(Object.values(perWorker));
  return `the server named no worker in its acknowledgement of \`join_room\` for ${connected - named} of ${connected} connections`;
}
