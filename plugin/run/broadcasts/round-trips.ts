/** Measures the probe's round trips without load, and records all round trips. */

import { SAME_CLOCK_US } from '../../../protocol/base/clock/clock-line.ts';
import type { RunContext } from '../context.ts';
import type { ProbeEcho } from '../receivers/round-trip-probe.ts';
import { pollUntil } from '../wait.ts';
import { publishBroadcasts } from './publish.ts';

const INTERVAL_MS = 50;
const ANSWER_TIMEOUT_MS = 30_000;

/**
 * Records the probe's echo as a valid or an impossible round trip. The server receives a valid echo after the probe
 * received the broadcast, and before the probe received the acknowledgement.
 * @param via index of the publishing worker
 * @returns false if the worker whose clock timed the echo is unknown
 */
export function recordEcho(
  { measurements, clocks: { lines }, probe }: Pick<RunContext, 'measurements' | 'clocks' | 'probe'>,
  load: 'single' | 'underLoad',
  via: number,
  echo: ProbeEcho,
): boolean {
  const { workersAtStart, impossibleRoundTrips } = measurements;
  const publisher = lines[via];
  const answering = lines[workersAtStart.findIndex(({ worker }) => worker === probe.worker)];
  const { receivedAtUs, acknowledgedAtUs } = echo;
  const offsetUs = publisher?.offsetAt(receivedAtUs) ?? 0;
  // If the workers' clocks agree, any of them may have timed the echo.
  const isOneClock = lines.every((line) => line.offsetAt(receivedAtUs) === offsetUs);
  if (!answering && !isOneClock) return false;
  const sentAtUs = publisher?.toOurs(echo.sentAtUs) ?? echo.sentAtUs;
  if ([publisher, answering].some((line) => (line?.jumpUs(sentAtUs, acknowledgedAtUs) ?? 0) > 0)) {
    measurements.jumpedRoundTrips++;
    return true;
  }
  const roundTripUs = echo.roundTripUs + (isOneClock ? 0 : offsetUs - (answering?.offsetAt(receivedAtUs) ?? 0));
  const errorUs =
    SAME_CLOCK_US + (publisher?.worstAt(acknowledgedAtUs) ?? 0) + (answering?.worstAt(acknowledgedAtUs) ?? 0);
  const [leastUs, mostUs] = [receivedAtUs - sentAtUs, acknowledgedAtUs - sentAtUs];
  const isPossible = roundTripUs > 0 && roundTripUs >= leastUs - errorUs && roundTripUs <= mostUs + errorUs;
  if (isPossible) measurements.roundTripsUs[load].push(roundTripUs);
  else impossibleRoundTrips.push({ load, via, echo, roundTripUs, leastUs, mostUs });
  return true;
}

/**
 * Checks impossible round trips again after new clock readings, because the new readings may show that a clock had
 * jumped.
 */
export function recheckImpossible(context: RunContext): void {
  const { measurements } = context;
  for (const { load, via, echo } of measurements.impossibleRoundTrips.splice(0)) recordEcho(context, load, via, echo);
}

/** Returns the name of the room that only the probe joins. */
export function singleRoom(room: string): string {
  return `${room}:single`;
}

/**
 * Measures the probe's round trips without load, in a room that only the probe joins. Resolves when the round trips of
 * all echoes are measured or timed out. The probe then joins the room of the broadcasts.
 */
export async function measureSingleRoundTrips(context: RunContext): Promise<void> {
  const { control, probe, config, measurements, clocks, signal } = context;
  const room = singleRoom(config.room);
  await probe.join(room);
  const trips = measurements.roundTripsUs.single;
  const { singleRoundTrips: count, broadcasts } = config;
  const { bytes, binary } = broadcasts;
  const destinations = Array.from({ length: count }, (_, index) => ({
    room,
    via: index % measurements.workersAtStart.length,
  }));
  probe.onRoundTrip = (echo) => recordEcho(context, 'single', destinations[echo.seq - 1]?.via ?? 0, echo);
  const answered = () => trips.length + measurements.impossibleRoundTrips.length + measurements.jumpedRoundTrips;
  const unsent: string[] = [];
  const orders = await publishBroadcasts(
    control,
    { destinations, intervalMs: INTERVAL_MS, bytes, binary, clocks: clocks.lines },
    { onSent: () => {}, onFailed: ({ message }) => unsent.push(message) },
    signal,
  );
  const missing = () => count - answered() - unsent.length;
  await pollUntil(() => missing() <= 0 || missing() === orders.unanswered, ANSWER_TIMEOUT_MS, signal);
  const [unconfirmed] = orders.close();
  if (answered() < count && !signal.aborted) {
    const why = unsent[0] ?? unconfirmed?.message ?? `no acknowledgement within ${ANSWER_TIMEOUT_MS / 1000} s`;
    const missed = { load: 'single' as const, missing: count - answered(), asked: count, why };
    measurements.observations.note('roundTripsMissing', missed, 'single');
  }
  await probe.join(measurements.receiversRoom);
}
