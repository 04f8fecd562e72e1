/** The probe's round trips with nobody else connected: what a broadcast takes at least. */
import { monotonicUs } from '../../protocol/clock.ts';
import { publish } from './broadcasts.ts';
import { offsetAt } from './clocks.ts';
import { addWarning, type RunContext } from './context.ts';
import { receiversRoom } from './receivers/receivers-room.ts';
import { until } from './wait.ts';

const INTERVAL_MS = 50;
const ANSWER_TIMEOUT_MS = 30_000;

/**
 * Between the clock of the worker that answers the probe and the one that published: one and the same on one host.
 * @param via index of the publisher
 * @returns microseconds to add to what the worker said
 */
export function clockDifference({ measurements, probe }: RunContext, via: number): number {
  const { workersAtStart, clocks } = measurements;
  const publisher = clocks[via];
  const answering = clocks[workersAtStart.findIndex(({ worker }) => worker === probe.worker)];
  const nowUs = monotonicUs();
  return offsetAt(publisher, nowUs) - offsetAt(answering, nowUs);
}

/** @returns the probe's own room */
export function singleRoom(room: string): string {
  return `${room}:single`;
}

/** @returns when all are answered or given up; the probe is in a room of the broadcasts then */
export async function measureSingleRoundTrips(context: RunContext): Promise<void> {
  const { control, probe, record, config, measurements, signal } = context;
  const room = singleRoom(config.room);
  await probe.join(room);
  const trips = measurements.roundTripsUs.single;
  const { singleRoundTrips: count } = config;
  const to = Array.from({ length: count }, (_, index) => ({ room, via: index % measurements.workersAtStart.length }));
  probe.onRoundTrip = (seq, us) => trips.push(us + clockDifference(context, to[seq - 1]?.via ?? 0));
  const unsent: string[] = [];
  await publish(
    control,
    {
      to,
      intervalMs: INTERVAL_MS,
      bytes: config.broadcasts.bytes,
      clocks: measurements.clocks,
    },
    () => {},
    (_seq, error) => unsent.push(error.message),
    signal,
  );
  await until(() => trips.length + unsent.length >= count, ANSWER_TIMEOUT_MS, signal);
  if (trips.length < count && !signal.aborted) {
    const why = unsent[0] ?? 'not answered';
    addWarning(
      context,
      'ROUND_TRIPS_MISSING',
      `${count - trips.length} of ${count} unloaded round trips are missing: ${why}`,
    );
  }
  record.append('single-round-trips', { us: trips });
  await probe.join(receiversRoom(config.rooms));
}
