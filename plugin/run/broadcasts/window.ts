/** The broadcasts at full target: published, drained, and their ledger finalized. */
import { monotonicUs } from '../../../protocol/clock/clock.ts';
import type { FrozenBroadcast } from '../../../protocol/link/ledger.ts';
import { destinationOf, roomName } from '../../../protocol/rooms.ts';
import type { RunContext } from '../context.ts';
import { isDuring, isOn } from '../fault/fault-times.ts';
import { CONTROL_PORT } from '../measurements/absent-sources.ts';
import { measureAfterBroadcasts } from '../memory/at-rest.ts';
import { within } from '../wait.ts';
import { Windows } from '../windows/cpu.ts';
import { noteGenerator, resetGenerator } from '../windows/generator-loops.ts';
import { drain } from './drain.ts';
import { ordersOf, withLostMembers } from './ledger.ts';
import { LEAD_MS, publish, type SentBroadcast, type UnconfirmedBroadcast } from './publish.ts';
import { markRedis, redisSince } from './redis.ts';
import { judgeAgain, noteEcho } from './round-trips.ts';

/** A run that is stopped waits so long for confirmations. */
const STOP_TIMEOUT_MS = 1000;

/**
 * @param onDrain called when the last broadcast is out
 * @param meanwhile what goes on while they are published: a planned fault; called `leadMs` before the first one
 */
export async function measureBroadcasts(
  context: RunContext,
  onDrain: () => void,
  meanwhile: (leadMs: number) => Promise<void> = async () => {},
): Promise<void> {
  const { control, probe, config, measurements, link, ledger, clocks, signal } = context;
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
      isUnsteady: () => isOn(measurements.fault) || measurements.absentSources.has(CONTROL_PORT),
    },
    {
      beforeSend: (index) => {
        if (beginsPart(index, broadcasts.count)) void windows.next();
      },
      onSent: (one) => {
        // Members that were counted before the fault are not those of a broadcast after it.
        const sent = isDuring(measurements.fault, one.sentAtUs) ? { ...one, expected: null } : one;
        measurements.sent.push(sent);
      },
      onFailed: (unsent) => {
        measurements.unsent.push(unsent);
      },
    },
    signal,
  );
  const [orders] = await Promise.all([published, meanwhile(LEAD_MS)]);
  onDrain();
  await drain(context, orders, reachedBefore);
  if (signal.aborted) await within(orders.settled(), STOP_TIMEOUT_MS);
  const unconfirmed = orders.close();
  const broadcastWindows = await windows.end();
  const { fault } = measurements;
  // What it costs to come back is in the CPU time and in Redis's traffic, too.
  if (!fault) measurements.cpu.broadcasts = broadcastWindows;
  if (redisBegin && !fault) measurements.redis = await redisSince(context, redisBegin, orders.count);
  await noteGenerator(context, 'broadcasts');
  await settleClocks(context);
  checkSentinel(context);
  checkProbe(context, answered);
  const sent = measurements.sent.concat(unconfirmed.map((one) => assumedSent(one, measurements)));
  const rows = ledger ? await link.freeze(ordersOf(sent, beganAtUs)) : [];
  measurements.frozen = withLostMembers(rows, measurements);
  settleUnconfirmed(context, unconfirmed, answered);
  // The processes that a fault replaces have other memory than those before.
  if (!fault) await measureAfterBroadcasts(context);
}

/** What a broadcast is taken for that no worker confirmed: sent at its intended time. */
function assumedSent(
  { seq, room, via, intendedAtUs: atUs, orderedAtUs }: UnconfirmedBroadcast,
  { workersAtStart }: RunContext['measurements'],
): SentBroadcast {
  const times = { sentAtUs: atUs, stampedAtUs: atUs, intendedAtUs: atUs, orderedAtUs };
  const worker = workersAtStart[via]?.worker ?? '';
  return { seq, room, via, worker, expected: null, ...times, unconfirmed: true };
}

/** Copies show that an unconfirmed broadcast was sent. Without any, whether it was sent remains unknown. */
function settleUnconfirmed(
  { measurements }: RunContext,
  unconfirmed: UnconfirmedBroadcast[],
  echoed: ReadonlySet<number>,
): void {
  const { sentinel, frozen } = measurements;
  const rows = Map.groupBy(frozen, ({ seq }) => seq);
  const isSeen = ({ seq }: UnconfirmedBroadcast) =>
    (rows.get(seq) ?? []).some(hasCopies) || sentinel?.receivedAtUs.has(seq) || echoed.has(seq);
  const [seen, unseen] = [unconfirmed.filter(isSeen), unconfirmed.filter((one) => !isSeen(one))];
  measurements.sent.push(...seen.map((one) => assumedSent(one, measurements)));
  measurements.unknown.push(...unseen);
  const unknown = new Set(unseen.map(({ seq }) => seq));
  measurements.frozen = frozen.filter(({ seq }) => !unknown.has(seq));
}

function hasCopies({ received, unexpected, notMember, wrongSize, wrongContent }: FrozenBroadcast): boolean {
  return received + unexpected + notMember + wrongSize + wrongContent > 0;
}

/** It joins last, so that its worker serves it last: see `sentinel.ts`. */
async function joinSentinel(context: RunContext): Promise<void> {
  const { sentinel, measurements, signal } = context;
  if (!sentinel || signal.aborted) return;
  try {
    measurements.sentinel = await sentinel.join(measurements.receiversRoom, signal);
  } catch (error) {
    if (!signal.aborted) measurements.observations.note('sentinelLost', { joinError: (error as Error).message });
  }
}

function checkSentinel(context: RunContext): void {
  const { measurements, signal } = context;
  const { observations } = measurements;
  if (!measurements.sentinel || signal.aborted) return;
  const { leftAtUs, receivedAtUs } = measurements.sentinel;
  const { fault, receiversRoom } = measurements;
  const sent = measurements.sent.filter(({ room, sentAtUs }) => room === receiversRoom && !isDuring(fault, sentAtUs));
  if (leftAtUs !== undefined) {
    if (!isDuring(fault, leftAtUs)) observations.note('sentinelLost', { ended: true });
  } else if (sent.length > 0 && !sent.some(({ seq }) => receivedAtUs.has(seq))) {
    observations.note('sentinelLost', { broadcasts: sent.length });
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
  const missed = { load: 'underLoad' as const, missing, asked: sent.length, why };
  measurements.observations.note('roundTripsMissing', missed, 'underLoad');
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
