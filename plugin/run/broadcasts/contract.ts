/** The contract's broadcasts: the workers publish them, count the members, and confirm them. */
import { monotonicUs } from '../../../protocol/clock/clock.ts';
import type { FrozenBroadcast } from '../../../protocol/link/ledger.ts';
import { destinationOf, roomName } from '../../../protocol/rooms.ts';
import type { RunContext } from '../context.ts';
import { isDuring, isOn } from '../fault/fault-times.ts';
import { CONTROL_PORT } from '../measurements/absent-sources.ts';
import { otherReceivers } from '../receivers/other-receivers.ts';
import { within } from '../wait.ts';
import type { Outstanding } from './drain.ts';
import { ordersOf, withLostMembers } from './ledger.ts';
import { type Orders, publish, type SentBroadcast, type UnconfirmedBroadcast } from './publish.ts';
import { markRedis, redisSince } from './redis.ts';
import { judgeAgain, noteEcho } from './round-trips.ts';
import { type Broadcasting, beginsPart } from './window.ts';

/** A run that is stopped waits so long for confirmations. */
const STOP_TIMEOUT_MS = 1000;
/** Silent intervals that must pass where only copies are missing of broadcasts that may not have been sent. */
const QUIETS_OF_DOUBT = 5;

export class ContractBroadcasts implements Broadcasting {
  readonly #context: RunContext;
  readonly #to: { room: string; via: number }[];
  /** Broadcasts that the probe has sent back. */
  readonly #echoed = new Set<number>();
  readonly #beganAtUs = monotonicUs();
  /** First copies before the first broadcast, by engine. */
  #reachedBefore: RunContext['link']['reached'] = new Map();
  #redisBegin: Awaited<ReturnType<typeof markRedis>>;
  #orders: Orders | undefined;

  constructor(context: RunContext) {
    const { config, measurements } = context;
    this.#context = context;
    this.#to = Array.from({ length: config.broadcasts.count }, (_, index) => {
      const { room, via } = destinationOf(config.rooms, index, measurements.workersAtStart.length);
      return { room: roomName(config.rooms, room), via };
    });
  }

  async begin(): Promise<void> {
    const { probe, clocks } = this.#context;
    probe.onRoundTrip = (echo) => {
      const isNoted = noteEcho(this.#context, 'underLoad', this.#to[echo.seq - 1]?.via ?? 0, echo);
      if (isNoted) this.#echoed.add(echo.seq);
    };
    await clocks.read();
    await joinSentinel(this.#context);
    this.#redisBegin = await markRedis(this.#context);
  }

  async publish(nextPart: () => void): Promise<void> {
    const { control, config, measurements, link, clocks, signal } = this.#context;
    const { broadcasts } = config;
    this.#reachedBefore = link.reached;
    this.#orders = await publish(
      control,
      {
        to: this.#to,
        intervalMs: broadcasts.interval * 1000,
        bytes: broadcasts.bytes,
        binary: broadcasts.binary,
        clocks: clocks.lines,
        isUnsteady: () => isOn(measurements.fault) || measurements.absentSources.has(CONTROL_PORT),
      },
      {
        beforeSend: (index) => {
          if (beginsPart(index, broadcasts.count)) nextPart();
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
  }

  outstanding(): Outstanding {
    const { measurements, link, ledger } = this.#context;
    const { sent, roundTripsUs } = measurements;
    const { open = 0, unanswered = 0 } = this.#orders ?? {};
    const echoes = roundTripsUs.underLoad.length;
    const reached = ledger ? reachedSince(this.#reachedBefore, link.reached) : echoes;
    const missing = (unconfirmed: number) =>
      (ledger ? expectedCopies(this.#context, unconfirmed) : sent.length + unconfirmed) - reached;
    return {
      received: ledger ? link.status.received : echoes,
      progress: `${reached} ${sent.length}`,
      // A connection that comes back may get what it missed.
      isComplete: open === 0 && missing(0) <= 0 && link.status.away === 0,
      // Unexpected copies, such as duplicates, can still arrive.
      quiets: missing(unanswered) > 0 ? QUIETS_OF_DOUBT : 1,
      missingCopies: Math.max(0, missing(open)),
      unconfirmed: open,
    };
  }

  async settle(): Promise<void> {
    const { measurements, link, ledger, signal } = this.#context;
    const orders = this.#orders;
    if (signal.aborted) await within(orders?.settled() ?? Promise.resolve(), STOP_TIMEOUT_MS);
    const unconfirmed = orders?.close() ?? [];
    // What it costs to come back is in Redis's traffic, too.
    if (this.#redisBegin && !measurements.fault)
      measurements.redis = await redisSince(this.#context, this.#redisBegin, orders?.count ?? 0);
    await settleClocks(this.#context);
    checkSentinel(this.#context);
    checkProbe(this.#context, this.#echoed);
    const sent = measurements.sent.concat(unconfirmed.map((one) => assumedSent(one, measurements)));
    const rows = ledger ? await link.freeze(ordersOf(sent, this.#beganAtUs)) : [];
    measurements.frozen = withLostMembers(rows, measurements);
    settleUnconfirmed(this.#context, unconfirmed, this.#echoed);
  }
}

/**
 * Counts copies by the members that the workers counted; without a count, as many as before. What was sent to a host that is gone is
 * accounted for as lost: then no broadcast has more receivers than there are members on the other hosts.
 * @param unconfirmed broadcasts that are taken to have as many members as the last one
 */
function expectedCopies({ measurements, link }: RunContext, unconfirmed: number): number {
  const most = link.gone.size > 0 ? link.status.joined : Number.POSITIVE_INFINITY;
  let members = 0;
  let copies = 0;
  for (const one of measurements.sent) {
    members = otherReceivers(one, measurements) ?? members;
    copies += Math.min(members, most);
  }
  return copies + unconfirmed * Math.min(members, most);
}

function reachedSince(before: RunContext['link']['reached'], now: RunContext['link']['reached']): number {
  let copies = 0;
  for (const [engine, reached] of now) copies += reached - (before.get(engine) ?? 0);
  return copies;
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
