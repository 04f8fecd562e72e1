/** The broadcasts at full target: published, drained, and their ledger finalized. */
import { destinationOf, roomName } from '../../protocol/rooms.ts';
import type { Settings } from '../script/settings.ts';
import { measureAfterBroadcasts } from './at-rest.ts';
import { publish } from './broadcasts.ts';
import { readClocks, toOurs } from './clocks.ts';
import { addWarning, type RunContext } from './context.ts';
import { drain } from './drain.ts';
import { noteGenerator, resetGenerator } from './generator-loops.ts';
import type { Measurements } from './measurements.ts';
import { markRedis, redisSince } from './redis-window.ts';
import { clockDifference } from './round-trips.ts';
import { pause } from './wait.ts';
import { mark, type WindowContext, windowSince } from './windows.ts';

/** @param onDrain called when the last broadcast is out */
export async function measureBroadcasts(context: RunContext, onDrain: () => void): Promise<void> {
  const { control, probe, record, config, measurements, link, ledger, here, signal } = context;
  const { rooms, broadcasts } = config;
  const to = Array.from({ length: broadcasts.count }, (_, index) => {
    const { room, via } = destinationOf(rooms, index, measurements.workersAtStart.length);
    return { room: roomName(rooms, room), via };
  });
  probe.onRoundTrip = (seq, us) =>
    measurements.roundTripsUs.underLoad.push(us + clockDifference(context, to[seq - 1]?.via ?? 0));
  measurements.clocks = (await readClocks(control, here)).map((begin) => ({ begin }));
  await joinSentinel(context);
  const redisBegin = await markRedis(context);
  await resetGenerator(context);
  const begin = await mark(context);
  const { received: receivedBefore, reached: reachedBefore } = link.status;
  await publish(
    control,
    {
      to,
      intervalMs: broadcasts.interval * 1000,
      bytes: broadcasts.bytes,
      clocks: measurements.clocks,
    },
    (sent) => {
      measurements.sent.push(sent);
      record.append('broadcast', sent);
    },
    (seq, error) => {
      const unsent = { seq, message: error.message };
      measurements.unsent.push(unsent);
      record.append('unsent', unsent);
    },
    signal,
  );
  onDrain();
  await drain(context, reachedBefore);
  const delivered = ledger
    ? link.status.received - receivedBefore
    : sum(measurements.sent.map(({ expected }) => expected ?? 0));
  measurements.cpu.broadcast = await windowSince(context, begin, delivered);
  const { sent, unsent } = measurements;
  if (redisBegin) measurements.redis = await redisSince(context, redisBegin, sent.length + unsent.length);
  await noteGenerator(context, 'broadcasts');
  await settleClocks(context);
  checkSentinel(context);
  checkProbe(context);
  if (ledger) {
    const orders = measurements.sent.map(({ seq, room, sentAtUs, intendedAtUs }) => ({
      ...{ seq, room },
      ...{ sentAtUs, intendedAtUs },
    }));
    measurements.frozen = await link.freeze(orders);
  }
  await measureAfterBroadcasts(context);
}

/** It joins last, so that its worker serves it last: see `sentinel.ts`. */
async function joinSentinel(context: RunContext): Promise<void> {
  const { sentinel, measurements, signal } = context;
  if (!sentinel || signal.aborted) return;
  try {
    measurements.sentinel = await sentinel.join(measurements.receiversRoom, signal);
  } catch (error) {
    if (!signal.aborted) noSentinel(context, `it could not join: ${(error as Error).message}`);
  }
}

function checkSentinel(context: RunContext): void {
  const { measurements, record, signal } = context;
  if (!measurements.sentinel || signal.aborted) return;
  const { worker, leftAtUs, receivedAtUs } = measurements.sentinel;
  record.append('sentinel', { worker, leftAtUs, receivedAtUs: Object.fromEntries(receivedAtUs) });
  if (leftAtUs !== undefined) noSentinel(context, 'its connection ended during the broadcasts');
}

/** The probe returns each broadcast to its room once. */
function checkProbe(context: RunContext): void {
  const { measurements, probe, signal } = context;
  measurements.probeLeftAtUs = probe.leftAtUs;
  const { sent: all, receiversRoom, roundTripsUs } = measurements;
  const sent = all.filter(({ room }) => room === receiversRoom).length;
  const answered = roundTripsUs.underLoad.length;
  if (signal.aborted || answered >= sent) return;
  const why = probe.leftAtUs === undefined ? 'not answered' : "the probe's connection ended";
  addWarning(context, 'ROUND_TRIPS_MISSING', `${sent - answered} of ${sent} round trips under load: ${why}`);
}

function noSentinel(context: RunContext, why: string): void {
  const message = `there is no reference receiver (sentinel), so the generator's own queue is unknown: ${why}`;
  addWarning(
    context,
    'SENTINEL_MISSING',
    message,
    'see the worker logs: the server refuses or drops single connections',
  );
}

/** A second reading shows how far the clocks have drifted apart meanwhile. */
async function settleClocks({ control, measurements, here, signal }: RunContext): Promise<void> {
  if (signal.aborted) return;
  const end = await readClocks(control, here);
  measurements.clocks = measurements.clocks.map(({ begin }, index) => ({ begin, end: end[index] ?? begin }));
  measurements.sent = measurements.sent.map((sent) => ({
    ...sent,
    sentAtUs: toOurs(measurements.clocks[sent.via], sent.stampedAtUs),
  }));
}

/** The hold in parts: how much they differ is the noise of all CPU figures. */
export const HOLD_PARTS = 10;

/** The CPU that idle connections cost. */
export async function measureIdle(
  context: WindowContext & { config: Pick<Settings, 'hold'>; measurements: Measurements; signal: AbortSignal },
): Promise<void> {
  const { config, measurements, signal } = context;
  for (let part = 0; part < HOLD_PARTS && !signal.aborted; part++) {
    const begin = await mark(context);
    await pause((config.hold * 1000) / HOLD_PARTS, signal);
    measurements.cpu.idle.push(await windowSince(context, begin, 0));
  }
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
