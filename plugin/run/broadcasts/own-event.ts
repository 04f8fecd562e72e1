/**
 * Counts broadcasts of an event of the user's own server, without the wire contract. The run's publishers trigger the
 * broadcasts, or the server sends them by itself. Fleet processes distinguish the broadcasts by an id in the payload.
 */
import { crc32 } from 'node:zlib';
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { formatJsonPath, type JsonPath } from '../../../protocol/base/json-path.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import type { OwnEventSightings } from '../../../protocol/link/ledger-messages.ts';
import type { OwnEventDelivery } from '../../script/settings.ts';
import type { RunContext } from '../context.ts';
import type { OwnEventMeasured } from '../measurements/own-event-measured.ts';
import { connectionHolders } from '../target/target-listeners.ts';
import { abortablePause } from '../wait.ts';
import { LedgerFinalizer } from './finalizer.ts';
import { sentOwnEventRow } from './ledger-rows.ts';
import { BROADCAST_PARTS, type BroadcastSource, isFirstOfPart } from './window.ts';

/** Interval at which the fleet processes are polled while broadcasts are published. */
const POLL_MS = 1000;
/** Maximum number of rooms that a fleet process reports. */
const MAX_ROOMS = 1000;
/** Longest delay that a Node timer supports. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * @param loadIsOver aborts at the end of the load, which ends publishing and waiting; only given if broadcasts are
 * counted during the load
 */
export function ownEventBroadcasts(
  context: RunContext,
  delivery: OwnEventDelivery,
  loadIsOver?: AbortSignal,
): BroadcastSource {
  const { link, publishers, measurements } = context;
  const signal = loadIsOver ? AbortSignal.any([context.signal, loadIsOver]) : context.signal;
  let finalizer: LedgerFinalizer;
  let published = 0;
  let drainedAtUs = 0;
  const publishAll = (by: NonNullable<typeof publishers>, rooms: string[], nextPart: () => void) =>
    by.publish(
      (sent) => {
        if (isFirstOfPart(sent.seq - 1, delivery.publish?.count ?? 0)) nextPart();
        published++;
        finalizer.addPublished(sent);
        const { seq, room, emittedAtUs, intendedAtUs } = sent;
        measurements.sent.push(sentOwnEventRow({ seq, room, sentAtUs: emittedAtUs, intendedAtUs }));
      },
      (seq, { ending, endReason: publisherEnd = 'unknown' }) => {
        const message = `the connection of its publisher had ended: ${ending?.text ?? publisherEnd}`;
        measurements.unsent.push({ seq, message, publisherEnd });
      },
      signal,
      rooms,
    );
  /** Waits while the server broadcasts by itself. Divides the waiting time into parts of equal length. */
  const listen = async (nextPart: () => void) => {
    if (loadIsOver) return abortablePause(MAX_TIMER_MS, signal);
    for (let part = 0; part < BROADCAST_PARTS && !signal.aborted; part++) {
      if (part > 0) nextPart();
      await abortablePause((delivery.seconds * 1000) / BROADCAST_PARTS, signal);
    }
  };
  return {
    // The interval is longer than usual, because each poll sends a request to all fleet processes.
    pollMs: 250,

    async publish(nextPart) {
      // From this call on, the ledgers count broadcasts. Broadcasts that arrive before it are ignored.
      const rooms = roomsOf(await link.sight(true), delivery, loadIsOver === undefined || publishers !== undefined);
      finalizer = new LedgerFinalizer(context, delivery, rooms);
      await whilePolling(signal, finalizer, () =>
        publishers ? publishAll(publishers, [...rooms.keys()], nextPart) : listen(nextPart),
      );
      // If publishers make the server broadcast, it may do so until the end of the drain.
      if (!publishers) finalizer.end(monotonicUs());
    },

    async outstanding() {
      const { broadcasts, expected, reached } = await finalizer.poll();
      drainedAtUs = monotonicUs();
      // If the server chooses the ids, `broadcasts` includes broadcasts that the run did not trigger.
      const isComplete = broadcasts >= published - finalizer.seen && reached >= expected;
      const missingCopies = Number.isFinite(expected) ? Math.max(0, expected - reached) : 0;
      return { received: reached, progress: reached, isComplete, missingCopies, unconfirmed: 0 };
    },

    async settle() {
      finalizer.end(drainedAtUs);
      await finalizer.finish();
      const { rows, basis, seen, skipped, bytes, example, idsBeside } = finalizer;
      measurements.sent = rows.sent;
      measurements.frozen = rows.frozen;
      const isMissed = rows.frozen.some(({ lostConnected }) => lostConnected > 0);
      const found: Partial<OwnEventMeasured> = {
        ...(isMissed && { holdings: await connectionHolders(context.config.target) }),
        ...{ latencyFrom: basis.from, sentAtUnusable: basis.unusable, untimed: basis.untimed },
        ...{ published, seen, skipped, bytes, example, idsBeside },
        ...(publishers && {
          publishers: publishers.connected,
          acknowledged: publishers.acknowledged,
          ackErrors: publishers.ackErrors,
          unacknowledged: publishers.unacknowledged,
        }),
      };
      if (measurements.ownEvent) Object.assign(measurements.ownEvent, found, { each: rows.each });
    },
  };
}

/**
 * Runs a function, and polls the fleet processes in the meantime, so that ledger rows of finished broadcasts become
 * free.
 */
async function whilePolling(signal: AbortSignal, finalizer: LedgerFinalizer, run: () => Promise<void>): Promise<void> {
  const done = new AbortController();
  const untilDone = AbortSignal.any([signal, done.signal]);
  const poll = async () => {
    for (;;) {
      await abortablePause(POLL_MS, untilDone);
      if (untilDone.aborted) return;
      await finalizer.poll();
    }
  };
  const polling = poll();
  try {
    await run();
  } finally {
    done.abort();
    await polling;
  }
}

/**
 * Sums the members of each room over all fleet processes.
 * @param areNeeded whether at least one connection must already be in a room
 * @returns members by namespace and room; a random selection if there are more than `MAX_ROOMS` rooms
 * @throws CapacityError DELIVERY_UNMATCHED if `audience` is configured and no connection is in a room
 */
function roomsOf(
  sightings: OwnEventSightings[],
  { audience }: OwnEventDelivery,
  areNeeded: boolean,
): ReadonlyMap<string, number> {
  const members = new Map<string, number>();
  for (const [room, count] of sightings.flatMap(({ rooms = [] }) => rooms))
    members.set(room, (members.get(room) ?? 0) + count);
  if (areNeeded && audience && members.size === 0) {
    throw new CapacityError(
      'DELIVERY_UNMATCHED',
      'no connection is in a room: nothing was found at `delivery.audience.client`',
      'set it to a variable that the flow sets before it holds, or to the path of the room in the event `delivery.join`',
    );
  }
  return new Map([...members].sort(([a], [b]) => crc32(a) - crc32(b)).slice(0, MAX_ROOMS));
}

/**
 * Checks the configured path of the id after the first connections, so that a wrong path ends the run early.
 * @throws CapacityError DELIVERY_UNMATCHED if the event has arrived, but never with an id
 */
export async function checkIdPath(
  { link }: Pick<RunContext, 'link'>,
  { event, id, audience }: OwnEventDelivery,
): Promise<void> {
  const sightings = await link.sight(false);
  const example = sightings.find((report) => report.example !== undefined)?.example;
  if (example === undefined || sightings.some(({ ids }) => ids.length > 0)) return;
  throw pathUnmatchedError(event, audience ? [id, audience.event] : [id], example);
}

export function pathUnmatchedError(event: string, paths: JsonPath[], example: string): CapacityError {
  const places = paths.map(formatJsonPath).join(' and ');
  return new CapacityError(
    'DELIVERY_UNMATCHED',
    `\`${event}\` arrives without a string, or a number up to 2^53, at ${places}: ${example}`,
    'correct the path in `delivery`: $.0 is the first argument after the name of the event; let the server send longer numbers as strings, because JavaScript rounds them; a room must be in the event that the server sends',
  );
}

/** Error for a received event that has an id but no room, although the server broadcasts to rooms. */
export function roomMissingError(event: string, path: JsonPath, example: string): CapacityError {
  return new CapacityError(
    'DELIVERY_UNMATCHED',
    `the received \`${event}\` has no room at ${formatJsonPath(path)}, the path in \`delivery.audience.event\`: ${example}`,
    `${addRoomToEventFix(event)}, and set \`delivery.audience.event\` to its path; if all connections get the event, leave \`delivery.audience\` out`,
  );
}

/** Returns the suggested fix for an event whose payload does not contain the name of the room. */
export function addRoomToEventFix(event: string): string {
  return `let the server put the room into the event, as in io.to(room).emit('${event}', {...message, room})`;
}
