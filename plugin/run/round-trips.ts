/** The probe's round trips with nobody else connected: what a broadcast takes at least. */

import { SAME_CLOCK_US } from '../../protocol/clock-line.ts';
import { publish } from './broadcasts.ts';
import { offsetAt, type WorkerClock } from './clocks.ts';
import { addWarning, type RunContext } from './context.ts';
import type { Echo } from './receivers/probe.ts';
import { receiversRoom } from './receivers/receivers-room.ts';
import { until } from './wait.ts';

const INTERVAL_MS = 50;
const ANSWER_TIMEOUT_MS = 30_000;
export const ROUND_TRIPS_FIX =
  'see the worker logs: a worker refuses control requests, does not acknowledge `broadcast_echo`, or drops connections';

/** Clocks of two hosts drift apart by no more. */
const MAX_DRIFT = 500e-6;

/**
 * Notes an echo as a round trip, or as one that the server cannot have measured: it ends when the server has the echo, so
 * after the probe got the broadcast, and before it got the acknowledgement.
 * @param load of the round trip
 * @param via index of the publisher
 * @returns false if nobody knows by which clock it was measured
 */
export function noteEcho(
  { measurements, probe }: RunContext,
  load: 'single' | 'underLoad',
  via: number,
  echo: Echo,
): boolean {
  const { workersAtStart, clocks, impossibleRoundTrips } = measurements;
  const publisher = clocks[via];
  const answering = clocks[workersAtStart.findIndex(({ worker }) => worker === probe.worker)];
  const { receivedAtUs, acknowledgedAtUs } = echo;
  const offsetUs = offsetAt(publisher, receivedAtUs);
  // Whose clock the round trip ends on matters only where the clocks differ.
  const isOneClock = clocks.every((clock) => offsetAt(clock, receivedAtUs) === offsetUs);
  if (!answering && !isOneClock) return false;
  const roundTripUs = echo.roundTripUs + (isOneClock ? 0 : offsetUs - offsetAt(answering, receivedAtUs));
  const sentAtUs = echo.sentAtUs - offsetUs;
  const errorUs =
    SAME_CLOCK_US + uncertaintyUs(publisher, acknowledgedAtUs) + uncertaintyUs(answering, acknowledgedAtUs);
  const [leastUs, mostUs] = [receivedAtUs - sentAtUs, acknowledgedAtUs - sentAtUs];
  const isPossible = roundTripUs > 0 && roundTripUs >= leastUs - errorUs && roundTripUs <= mostUs + errorUs;
  if (isPossible) {
    measurements.roundTripsUs[load].push(roundTripUs);
    measurements.roundTripPublishers[load].push(workersAtStart[via]?.worker ?? String(via));
  } else impossibleRoundTrips.push({ seq: echo.seq, roundTripUs, leastUs, mostUs });
  return true;
}

/** Where the same clock is read on both sides, there is none. */
function uncertaintyUs(clock: WorkerClock | undefined, atUs: number): number {
  const { uncertaintyUs = 0, atUs: readAtUs = atUs } = clock?.begin ?? {};
  return uncertaintyUs === 0 ? 0 : uncertaintyUs + Math.abs(atUs - readAtUs) * MAX_DRIFT;
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
  probe.onRoundTrip = (echo) => noteEcho(context, 'single', to[echo.seq - 1]?.via ?? 0, echo);
  const answered = () => trips.length + measurements.impossibleRoundTrips.length;
  const unsent: string[] = [];
  await publish(
    control,
    {
      to,
      intervalMs: INTERVAL_MS,
      bytes: config.broadcasts.bytes,
      binary: config.broadcasts.binary,
      clocks: measurements.clocks,
    },
    { onSent: () => {}, onFailed: ({ message }) => unsent.push(message) },
    signal,
  );
  await until(() => answered() + unsent.length >= count, ANSWER_TIMEOUT_MS, signal);
  if (answered() < count && !signal.aborted) {
    const why = unsent[0] ?? 'not answered';
    addWarning(
      context,
      'ROUND_TRIPS_MISSING',
      `${count - answered()} of ${count} unloaded round trips are missing: ${why}`,
      ROUND_TRIPS_FIX,
    );
  }
  record.append('single-round-trips', { us: trips });
  await probe.join(receiversRoom(config.rooms));
}
