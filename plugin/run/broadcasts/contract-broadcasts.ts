/**
 * Publishes broadcasts by the wire contract. For each broadcast, the run sends a request to a worker. The worker counts
 * the room's members, publishes, and confirms.
 */
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import type { FrozenBroadcast } from '../../../protocol/link/ledger-messages.ts';
import { broadcastDestination, roomName } from '../../../protocol/wire/rooms.ts';
import type { RunContext } from '../context.ts';
import { isDuringFault, isFaultActive } from '../fault/fault-times.ts';
import { CONTROL_PORT } from '../measurements/absent-sources.ts';
import { membersWithoutOwnClients } from '../receivers/members-without-own-clients.ts';
import { resultWithin } from '../wait.ts';
import { PublishRequests, publishBroadcasts, type SentBroadcast, type UnconfirmedBroadcast } from './publish.ts';
import { freezeRequestsOf, limitLostMembers } from './read-ledger.ts';
import { readRedisBefore, redisLoadSince } from './redis-commands.ts';
import { recheckImpossible, recordEcho } from './round-trips.ts';
import { type BroadcastSource, isFirstOfPart } from './window.ts';

/** Longest time that an aborted run waits for the workers' confirmations, in milliseconds. */
const STOP_TIMEOUT_MS = 1000;
/** Length of the period before a fault in which the fault may have prevented the probe's echo of a broadcast. */
const ECHO_IN_FLIGHT_US = 1e6;
/** Number of silent intervals to wait if the missing copies may belong to broadcasts that were never sent. */
const UNCERTAIN_QUIETS = 5;

export function contractBroadcasts(context: RunContext): BroadcastSource {
  const { control, probe, config, measurements, link, ledger, clocks, signal } = context;
  const { rooms, broadcasts } = config;
  const destinations = Array.from({ length: broadcasts.count }, (_, index) => {
    const { room, via } = broadcastDestination(rooms, index, measurements.workersAtStart.length);
    return { room: roomName(rooms, room), via };
  });
  const echoedSeqs = new Set<number>();
  const beganAtUs = monotonicUs();
  let reachedBefore = link.reached;
  let redisBegin: Awaited<ReturnType<typeof readRedisBefore>>;
  let orders = new PublishRequests();
  return {
    async begin() {
      probe.onRoundTrip = (echo) => {
        const isRecorded = recordEcho(context, 'underLoad', destinations[echo.seq - 1]?.via ?? 0, echo);
        if (isRecorded) echoedSeqs.add(echo.seq);
      };
      await clocks.read();
      await joinReferenceReceiver(context);
      redisBegin = await readRedisBefore(context);
    },

    async publish(nextPart) {
      reachedBefore = link.reached;
      const { bytes, binary, interval, count } = broadcasts;
      const isUnsteady = () => isFaultActive(measurements.fault) || measurements.absentSources.has(CONTROL_PORT);
      orders = await publishBroadcasts(
        control,
        { destinations, intervalMs: interval * 1000, bytes, binary, clocks: clocks.lines, isUnsteady },
        {
          beforeSend: (index) => isFirstOfPart(index, count) && nextPart(),
          // During the fault, members may leave between the worker's count and its send, so the count is not used.
          onSent: (sent) =>
            measurements.sent.push(
              isDuringFault(measurements.fault, sent.sentAtUs) ? { ...sent, expected: null } : sent,
            ),
          onFailed: (unsent) => measurements.unsent.push(unsent),
        },
        signal,
      );
    },

    outstanding() {
      const echoes = measurements.roundTripsUs.underLoad.length;
      const reached = ledger ? reachedSince(reachedBefore, link.reached) : echoes;
      const missing = (unconfirmed: number) =>
        (ledger ? expectedCopies(context, unconfirmed) : measurements.sent.length + unconfirmed) - reached;
      return {
        received: ledger ? link.status.received : echoes,
        progress: `${reached} ${measurements.sent.length}`,
        // A disconnected client may still receive missed broadcasts when it reconnects, so the drain does not end
        // early.
        isComplete: orders.open === 0 && missing(0) <= 0 && link.status.away === 0,
        // Duplicates and other unexpected copies can still arrive.
        quiets: missing(orders.unanswered) > 0 ? UNCERTAIN_QUIETS : 1,
        missingCopies: Math.max(0, missing(orders.open)),
        unconfirmed: orders.open,
      };
    },

    async settle() {
      if (signal.aborted) await resultWithin(orders.settled(), STOP_TIMEOUT_MS);
      const unconfirmed = orders.close();
      if (redisBegin && !measurements.fault)
        measurements.redis = await redisLoadSince(context, redisBegin, orders.count);
      await settleClocks(context);
      checkReferenceReceiver(context);
      checkProbe(context, echoedSeqs);
      const sent = measurements.sent.concat(unconfirmed.map((broadcast) => assumedSent(broadcast, measurements)));
      const rows = ledger ? await link.freeze(freezeRequestsOf(sent, beganAtUs)) : [];
      measurements.frozen = limitLostMembers(rows, measurements);
      settleUnconfirmed(context, unconfirmed, echoedSeqs);
    },
  };
}

/**
 * Sums the member counts of all broadcasts. A broadcast without a member count takes the count of the previous
 * broadcast. After the loss of a generator host, no broadcast expects more copies than the remaining hosts have
 * members.
 * @param unconfirmed number of unconfirmed broadcasts to add, each with the last member count
 */
function expectedCopies({ measurements, link }: RunContext, unconfirmed: number): number {
  const maxMembers = link.gone.size > 0 ? link.status.joined : Number.POSITIVE_INFINITY;
  let members = 0;
  let copies = 0;
  for (const sent of measurements.sent) {
    members = membersWithoutOwnClients(sent, measurements) ?? members;
    copies += Math.min(members, maxMembers);
  }
  return copies + unconfirmed * Math.min(members, maxMembers);
}

function reachedSince(before: RunContext['link']['reached'], now: RunContext['link']['reached']): number {
  let copies = 0;
  for (const [engine, reached] of now) copies += reached - (before.get(engine) ?? 0);
  return copies;
}

/** Returns an unconfirmed broadcast as if it had been sent at its intended time. */
function assumedSent(
  { seq, room, via, intendedAtUs: atUs, orderedAtUs }: UnconfirmedBroadcast,
  { workersAtStart }: RunContext['measurements'],
): SentBroadcast {
  const times = { sentAtUs: atUs, stampedAtUs: atUs, intendedAtUs: atUs, orderedAtUs };
  const worker = workersAtStart[via]?.worker ?? '';
  return { seq, room, via, worker, expected: null, ...times, unconfirmed: true };
}

/** Moves unconfirmed broadcasts to `sent` if a copy arrived, and to `unknown` otherwise. */
function settleUnconfirmed(
  { measurements }: RunContext,
  unconfirmed: UnconfirmedBroadcast[],
  echoedSeqs: ReadonlySet<number>,
): void {
  const { sentinel, frozen } = measurements;
  const rows = Map.groupBy(frozen, ({ seq }) => seq);
  const hasArrived = ({ seq }: UnconfirmedBroadcast) =>
    (rows.get(seq) ?? []).some(hasCopies) || sentinel?.receivedAtUs.has(seq) || echoedSeqs.has(seq);
  const arrived = unconfirmed.filter(hasArrived);
  const unknown = unconfirmed.filter((broadcast) => !hasArrived(broadcast));
  measurements.sent.push(...arrived.map((broadcast) => assumedSent(broadcast, measurements)));
  measurements.unknown.push(...unknown);
  const unknownSeqs = new Set(unknown.map(({ seq }) => seq));
  measurements.frozen = frozen.filter(({ seq }) => !unknownSeqs.has(seq));
}

function hasCopies({ received, unexpected, notMember, wrongSize, wrongContent }: FrozenBroadcast): boolean {
  return received + unexpected + notMember + wrongSize + wrongContent > 0;
}

/**
 * Joins the reference receiver to the room. It joins last, because a worker sends to its members in the order of their
 * joins.
 */
async function joinReferenceReceiver(context: RunContext): Promise<void> {
  const { sentinel, measurements, signal } = context;
  if (!sentinel || signal.aborted) return;
  try {
    measurements.sentinel = await sentinel.join(measurements.receiversRoom, signal);
  } catch (error) {
    if (!signal.aborted) measurements.observations.note('sentinelLost', { joinError: (error as Error).message });
  }
}

function checkReferenceReceiver(context: RunContext): void {
  const { measurements, sentinel, signal } = context;
  const { observations } = measurements;
  if (!measurements.sentinel || signal.aborted) return;
  const { leftAtUs, receivedAtUs } = measurements.sentinel;
  const { fault, receiversRoom } = measurements;
  const sent = measurements.sent.filter(
    ({ room, sentAtUs }) => room === receiversRoom && !isDuringFault(fault, sentAtUs),
  );
  if (leftAtUs !== undefined) {
    if (!isDuringFault(fault, leftAtUs))
      observations.note('sentinelLost', { ended: sentinel?.ending?.text ?? 'for an unknown reason' });
  } else if (sent.length > 0 && !sent.some(({ seq }) => receivedAtUs.has(seq))) {
    observations.note('sentinelLost', { broadcasts: sent.length });
  }
}

/**
 * Notes missing round trips of the probe. Broadcasts during a planned fault do not count. If the fault closed the
 * probe, later broadcasts do not count either.
 */
function checkProbe(context: RunContext, echoedSeqs: Set<number>): void {
  const { measurements, probe, signal } = context;
  measurements.probeLeftAtUs = probe.leftAtUs;
  measurements.probeReceivedAtUs = probe.receivedAtUs;
  // `leftAtUs` is 0 in a run without a probe, which the run has already reported.
  if (probe.leftAtUs === 0) return;
  const { sent: all, receiversRoom, fault } = measurements;
  const isGone = probe.leftAtUs !== undefined && isDuringFault(fault, probe.leftAtUs);
  const untilUs = isGone ? (fault?.atUs ?? 0) - ECHO_IN_FLIGHT_US : Number.POSITIVE_INFINITY;
  const sent = all.filter(
    ({ room, sentAtUs }) => room === receiversRoom && sentAtUs < untilUs && !isDuringFault(fault, sentAtUs),
  );
  const missing = sent.filter(({ seq }) => !echoedSeqs.has(seq)).length;
  if (signal.aborted || missing === 0) return;
  const why = probe.leftAtUs === undefined ? 'not answered' : `the probe's connection ended: ${probe.ending?.text}`;
  const missed = { load: 'underLoad' as const, missing, asked: sent.length, why };
  measurements.observations.note('roundTripsMissing', missed, 'underLoad');
}

/**
 * Reads the workers' clocks again and recomputes the send times, because a clock offset between two readings is more
 * exact.
 */
async function settleClocks(context: RunContext): Promise<void> {
  const { measurements, clocks, signal } = context;
  if (signal.aborted) return;
  await clocks.read();
  measurements.sent = measurements.sent.map((sent) => ({
    ...sent,
    sentAtUs: clocks.lines[sent.via]?.toOurs(sent.stampedAtUs) ?? sent.stampedAtUs,
  }));
  recheckImpossible(context);
}
