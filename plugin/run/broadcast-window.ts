/** The broadcasts at full target: published, drained, and their ledger finalized. */
import type { Settings } from '../script/settings.ts';
import { measureAfterBroadcasts } from './at-rest.ts';
import { publish } from './broadcasts.ts';
import { readClocks, toOurs } from './clocks.ts';
import { addWarning, type RunContext } from './context.ts';
import { drain } from './drain.ts';
import { noteGenerator, resetGenerator } from './generator-loops.ts';
import type { Measurements } from './measurements.ts';
import { clockDifference } from './round-trips.ts';
import { pause } from './wait.ts';
import { mark, type WindowContext, windowSince } from './windows.ts';

/** @param onDrain called when the last broadcast is out */
export async function measureBroadcasts(context: RunContext, onDrain: () => void): Promise<void> {
  const { control, probe, record, config, measurements, link, ledger, here, signal } = context;
  const { room, broadcasts } = config;
  probe.onRoundTrip = (seq, us) => measurements.roundTripsUs.underLoad.push(us + clockDifference(context, seq));
  measurements.clocks = (await readClocks(control, here)).map((begin) => ({ begin }));
  await joinSentinel(context);
  await resetGenerator(context);
  const begin = await mark(context);
  const { received: receivedBefore, reached: reachedBefore } = link.status;
  await publish(
    control,
    {
      room,
      count: broadcasts.count,
      intervalMs: broadcasts.interval * 1000,
      bytes: broadcasts.bytes,
      workers: measurements.workersAtStart.length,
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
  await noteGenerator(context, 'broadcasts');
  await settleClocks(context);
  checkSentinel(context);
  checkProbe(context);
  if (ledger) {
    const orders = measurements.sent.map(({ seq, sentAtUs, intendedAtUs }) => ({ seq, room, sentAtUs, intendedAtUs }));
    measurements.frozen = await link.freeze(orders);
  }
  await measureAfterBroadcasts(context);
}

/** It joins last, so that its worker serves it last: see `sentinel.ts`. */
async function joinSentinel(context: RunContext): Promise<void> {
  const { sentinel, measurements, config, signal } = context;
  if (!sentinel || signal.aborted) return;
  try {
    measurements.sentinel = await sentinel.join(config.room, signal);
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

/** The probe returns each broadcast once. */
function checkProbe(context: RunContext): void {
  const { measurements, probe, signal } = context;
  measurements.probeLeftAtUs = probe.leftAtUs;
  const [sent, answered] = [measurements.sent.length, measurements.roundTripsUs.underLoad.length];
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
