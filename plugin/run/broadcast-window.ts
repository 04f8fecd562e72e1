/** The broadcasts at full target: published, drained, and the books closed. */
import { publish } from './broadcasts.ts';
import { readClocks, toOurs } from './clocks.ts';
import { addWarning, type RunContext } from './context.ts';
import { noteGenerator, resetGenerator } from './generator-loops.ts';
import { readAtRest } from './readings.ts';
import { clockDifference } from './round-trips.ts';
import { pause, until } from './wait.ts';
import { mark, windowSince } from './windows.ts';

/** @param onDrain told when the last broadcast is out */
export async function measureBroadcasts(context: RunContext, onDrain: () => void): Promise<void> {
  const { control, probe, record, sampler, config, measurements, link, ledger, here, signal } = context;
  const { room, broadcasts } = config;
  probe.onRoundTrip = (seq, us) => measurements.roundTripsUs.underLoad.push(us + clockDifference(context, seq));
  measurements.clocks = (await readClocks(control, here)).map((begin) => ({ begin }));
  await joinSentinel(context);
  await resetGenerator(context);
  const begin = await mark(context);
  const receivedBefore = link.status.received;
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
  await drain(context);
  const delivered = ledger
    ? link.status.received - receivedBefore
    : sum(measurements.sent.map((sent) => sent.expected));
  measurements.cpu.broadcast = await windowSince(context, begin, delivered);
  await noteGenerator(context, 'broadcasts');
  await settleClocks(context);
  checkSentinel(context);
  if (ledger) {
    const orders = measurements.sent.map(({ seq, sentAtUs, intendedAtUs }) => ({ seq, room, sentAtUs, intendedAtUs }));
    measurements.frozen = await link.freeze(orders);
  }
  if (signal.aborted) return;
  measurements.afterBroadcasts = await readAtRest(control, sampler);
  record.append('after-broadcasts', { layers: measurements.afterBroadcasts });
}

/** After everybody else: see `sentinel.ts`. */
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

function noSentinel(context: RunContext, why: string): void {
  const message = `no sentinel, so the generator's own queue is not known: ${why}`;
  addWarning(
    context,
    'SENTINEL_MISSING',
    message,
    'see the worker logs: the server refuses or drops single connections',
  );
}

/** The second reading tells how the clocks went apart meanwhile. */
async function settleClocks({ control, measurements, here, signal }: RunContext): Promise<void> {
  if (signal.aborted) return;
  const end = await readClocks(control, here);
  measurements.clocks = measurements.clocks.map(({ begin }, index) => ({ begin, end: end[index] ?? begin }));
  measurements.sent = measurements.sent.map((sent) => ({
    ...sent,
    sentAtUs: toOurs(measurements.clocks[sent.via], sent.stampedAtUs),
  }));
}

/** Loss is decided when nothing has come for a while, or at the deadline; until then everybody stays connected. */
async function drain({ config, link, measurements, ledger, signal }: RunContext): Promise<void> {
  const { quiet, deadline } = config.drain;
  const receivedNow = () => (ledger ? link.status.received : measurements.roundTripsUs.underLoad.length);
  let received = receivedNow();
  let lastMs = performance.now();
  const isQuiet = () => {
    const now = receivedNow();
    if (now !== received) lastMs = performance.now();
    received = now;
    return performance.now() - lastMs >= quiet * 1000;
  };
  await until(isQuiet, deadline * 1000, signal);
}

/** What differs between them is the noise of all CPU figures. */
const IDLE_PARTS = 10;

/** Connections that only wait: what they cost without broadcasts. */
export async function measureIdle(context: RunContext): Promise<void> {
  const { config, measurements, signal } = context;
  for (let part = 0; part < IDLE_PARTS && !signal.aborted; part++) {
    const begin = await mark(context);
    await pause((config.hold * 1000) / IDLE_PARTS, signal);
    measurements.cpu.idle.push(await windowSince(context, begin, 0));
  }
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
