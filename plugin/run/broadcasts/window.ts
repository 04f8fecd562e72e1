/** The broadcasts at full target: published, drained, and their ledger finalized. */
import { monotonicUs } from '../../../protocol/clock/clock.ts';
import { destinationOf, roomName } from '../../../protocol/rooms.ts';
import { addWarning, type RunContext } from '../context.ts';
import { isDuring, isOn } from '../fault/measure.ts';
import { measureAfterBroadcasts } from '../memory/at-rest.ts';
import { Windows } from '../windows/cpu.ts';
import { noteGenerator, resetGenerator } from '../windows/generator-loops.ts';
import { drain } from './drain.ts';
import { ordersOf, withLostMembers } from './ledger.ts';
import { LEAD_MS, publish } from './publish.ts';
import { markRedis, redisSince } from './redis.ts';
import { judgeAgain, noteEcho, ROUND_TRIPS_FIX } from './round-trips.ts';

/**
 * @param onDrain called when the last broadcast is out
 * @param meanwhile what goes on while they are published: a planned fault; called `leadMs` before the first one
 */
export async function measureBroadcasts(
  context: RunContext,
  onDrain: () => void,
  meanwhile: (leadMs: number) => Promise<void> = async () => {},
): Promise<void> {
  const { control, probe, record, config, measurements, link, ledger, clocks, signal } = context;
  const { rooms, broadcasts } = config;
  const to = Array.from({ length: broadcasts.count }, (_, index) => {
    const { room, via } = destinationOf(rooms, index, measurements.workersAtStart.length);
    return { room: roomName(rooms, room), via };
  });
  const answered = new Set<number>();
  const beganAtUs = monotonicUs();
  probe.onRoundTrip = (echo) => {
    const isNoted = noteEcho(context, 'underLoad', to[echo.seq - 1]?.via ?? 0, echo);
    if (isNoted) answered.add(echo.seq);
  };
  await clocks.read();
  await joinSentinel(context);
  const redisBegin = await markRedis(context);
  await resetGenerator(context);
  const { received: receivedBefore } = link.status;
  const reachedBefore = link.reached;
  const delivered = () =>
    ledger
      ? link.status.received - receivedBefore
      : measurements.sent.reduce((total, { expected }) => total + (expected ?? 0), 0);
  const windows = new Windows(context, delivered);
  const published = publish(
    control,
    {
      to,
      intervalMs: broadcasts.interval * 1000,
      bytes: broadcasts.bytes,
      binary: broadcasts.binary,
      clocks: clocks.lines,
      isUnsteady: () => isOn(measurements.fault),
    },
    {
      beforeSend: (index) => {
        if (beginsPart(index, broadcasts.count)) void windows.next();
      },
      onSent: (one) => {
        // Members that were counted before the fault are not those of a broadcast after it.
        const sent = isDuring(measurements.fault, one.sentAtUs) ? { ...one, expected: null } : one;
        measurements.sent.push(sent);
        record.append('broadcast', sent);
      },
      onFailed: (unsent) => {
        measurements.unsent.push(unsent);
        record.append('unsent', unsent);
      },
    },
    signal,
  );
  await Promise.all([published, meanwhile(LEAD_MS)]);
  onDrain();
  await drain(context, reachedBefore);
  const broadcastWindows = await windows.end();
  const { sent, unsent, fault } = measurements;
  // What it costs to come back is in the CPU time and in Redis's traffic, too.
  if (!fault) measurements.cpu.broadcasts = broadcastWindows;
  if (redisBegin && !fault) measurements.redis = await redisSince(context, redisBegin, sent.length + unsent.length);
  await noteGenerator(context, 'broadcasts');
  await settleClocks(context);
  checkSentinel(context);
  checkProbe(context, answered);
  if (ledger) {
    measurements.frozen = withLostMembers(await link.freeze(ordersOf(measurements.sent, beganAtUs)), measurements);
    await findUnconfirmed(context);
  }
  // The processes that a fault replaces have other memory than those before.
  if (!fault) await measureAfterBroadcasts(context);
}

/** A worker that dies can have sent a broadcast without confirming it: whoever received it proves that. */
async function findUnconfirmed({ measurements, link }: RunContext): Promise<void> {
  const { fault, unsent, workersAtStart } = measurements;
  // Also one that was due before the fault: a worker of a busy machine is late.
  const doubtful = unsent.filter(({ intendedAtUs }) => intendedAtUs !== undefined);
  if (!fault || doubtful.length === 0) return;
  const orders = doubtful.map(({ seq, room = '', intendedAtUs: sentAtUs = 0 }) => ({
    ...{ seq, room, sentAtUs },
    intendedAtUs: sentAtUs,
  }));
  const rows = Map.groupBy(await link.freeze(orders), ({ seq }) => seq);
  for (const one of doubtful) {
    const found = rows.get(one.seq) ?? [];
    if (!found.some(({ received, unexpected, notMember }) => received + unexpected + notMember > 0)) continue;
    measurements.unsent.splice(measurements.unsent.indexOf(one), 1);
    measurements.frozen.push(...found);
    const { seq, room = '', via = 0, intendedAtUs = 0 } = one;
    const worker = workersAtStart[via]?.worker ?? '';
    const at = { sentAtUs: intendedAtUs, stampedAtUs: intendedAtUs, intendedAtUs };
    measurements.sent.push({ seq, room, via, worker, expected: null, ...at });
  }
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
  const { fault, receiversRoom } = measurements;
  const sent = measurements.sent.filter(({ room, sentAtUs }) => room === receiversRoom && !isDuring(fault, sentAtUs));
  if (leftAtUs !== undefined) {
    if (!isDuring(fault, leftAtUs)) noSentinel(context, 'its connection ended during the broadcasts');
  } else if (sent.length > 0 && !sent.some(({ seq }) => receivedAtUs.has(seq))) {
    noSentinel(context, `it received none of ${sent.length} broadcasts, although the server had acknowledged its join`);
  }
}

/** The probe returns each broadcast to its room once, until a planned fault drops it, or keeps a broadcast from it. */
function checkProbe(context: RunContext, answered: Set<number>): void {
  const { measurements, probe, signal } = context;
  measurements.probeLeftAtUs = probe.leftAtUs;
  measurements.probeReceivedAtUs = probe.receivedAtUs;
  // The run has said so where it has none.
  if (probe.leftAtUs === 0) return;
  const { sent: all, receiversRoom, fault } = measurements;
  const isGone = probe.leftAtUs !== undefined && isDuring(fault, probe.leftAtUs);
  const untilUs = isGone ? (fault?.atUs ?? 0) : Number.POSITIVE_INFINITY;
  const sent = all.filter(
    ({ room, sentAtUs }) => room === receiversRoom && sentAtUs < untilUs && !isDuring(fault, sentAtUs),
  );
  const missing = sent.filter(({ seq }) => !answered.has(seq)).length;
  if (signal.aborted || missing === 0) return;
  const why = probe.leftAtUs === undefined ? 'not answered' : "the probe's connection ended";
  const message = `${missing} of ${sent.length} round trips under load are missing: ${why}`;
  addWarning(context, 'PROBE_INCOMPLETE', message, ROUND_TRIPS_FIX);
}

function noSentinel(context: RunContext, why: string): void {
  const message = `there is no reference receiver (sentinel), so the generator's own queue is unknown: ${why}`;
  const fix = 'see the worker logs: the server refuses or drops single connections';
  addWarning(context, 'PROBE_INCOMPLETE', message, fix);
}

/** Between two readings, the clocks are known better than they were at the time. */
async function settleClocks(context: RunContext): Promise<void> {
  const { measurements, clocks, signal } = context;
  if (signal.aborted) return;
  await clocks.read();
  measurements.sent = measurements.sent.map((sent) => ({
    ...sent,
    sentAtUs: clocks.lines[sent.via]?.toOurs(sent.stampedAtUs) ?? sent.stampedAtUs,
  }));
  judgeAgain(context);
}

export const BROADCAST_PARTS = 10;

/**
 * The broadcasts are measured in parts of equally many, and the last part has the rest, too: how much the parts differ is the
 * noise of the CPU per message.
 */
export function beginsPart(index: number, count: number): boolean {
  const size = Math.max(1, Math.floor(count / BROADCAST_PARTS));
  return index > 0 && index % size === 0 && index + size <= count;
}
