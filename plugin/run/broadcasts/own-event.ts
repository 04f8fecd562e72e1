/** Broadcasts of a server without our contract: the run provokes them or waits for them; each fleet process numbers them by their ids. */
import { crc32 } from 'node:zlib';
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { formatJsonPath, type JsonPath } from '../../../protocol/base/json-path.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import type { Sightings } from '../../../protocol/link/sightings.ts';
import type { Delivery } from '../../script/settings.ts';
import type { RunContext } from '../context.ts';
import type { OwnEventMeasured } from '../measurements/own-event-measured.ts';
import { connectionHolders } from '../target/target-listeners.ts';
import { pause } from '../wait.ts';
import { Finalizer } from './finalizer.ts';
import { asSent } from './rows.ts';
import { BROADCAST_PARTS, type Broadcasting, beginsPart } from './window.ts';

/** While broadcasts are published. */
const LOOK_MS = 1000;
/** As in each process: beyond that, not all that have a member name a room. */
const MAX_ROOMS = 1000;

export function ownEventBroadcasts(context: RunContext, delivery: Delivery): Broadcasting {
  const { link, publishers, measurements, signal } = context;
  let finalizer: Finalizer;
  let published = 0;
  let drainedAtUs = 0;
  const provoke = (by: NonNullable<typeof publishers>, rooms: string[], nextPart: () => void) =>
    by.publish(
      (sent) => {
        if (beginsPart(sent.seq - 1, delivery.publish?.count ?? 0)) nextPart();
        published++;
        finalizer.published(sent);
        const { seq, room, emittedAtUs, intendedAtUs } = sent;
        measurements.sent.push(asSent({ seq, room, sentAtUs: emittedAtUs, intendedAtUs }));
      },
      (seq, { ending, endReason: publisherEnd = 'unknown' }) => {
        const message = `the connection of its publisher had ended: ${ending?.text ?? publisherEnd}`;
        measurements.unsent.push({ seq, message, publisherEnd });
      },
      signal,
      rooms,
    );
  /** The server chooses when it broadcasts, so the parts are of equal length. */
  const listen = async (nextPart: () => void) => {
    for (let part = 0; part < BROADCAST_PARTS && !signal.aborted; part++) {
      if (part > 0) nextPart();
      await pause((delivery.seconds * 1000) / BROADCAST_PARTS, signal);
    }
  };
  return {
    // Each look asks all fleet processes.
    pollMs: 250,

    async publish(nextPart) {
      // Broadcasts that are under way now belong to no count.
      const rooms = roomsOf(await link.sight(true), delivery);
      finalizer = new Finalizer(context, delivery, rooms);
      await whileLooking(signal, finalizer, () =>
        publishers ? provoke(publishers, [...rooms.keys()], nextPart) : listen(nextPart),
      );
      // Copies of what the publishers sent may come as late as the drain allows.
      if (!publishers) finalizer.end(monotonicUs());
    },

    async outstanding() {
      const { broadcasts, expected, reached } = await finalizer.look();
      drainedAtUs = monotonicUs();
      // With ids of the server's, those of the publishers' broadcasts are among them.
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

/** Makes room in the ledgers meanwhile. */
async function whileLooking(signal: AbortSignal, finalizer: Finalizer, run: () => Promise<void>): Promise<void> {
  const done = new AbortController();
  const untilDone = AbortSignal.any([signal, done.signal]);
  const look = async () => {
    for (;;) {
      await pause(LOOK_MS, untilDone);
      if (untilDone.aborted) return;
      await finalizer.look();
    }
  };
  const looking = look();
  try {
    await run();
  } finally {
    done.abort();
    await looking;
  }
}

/**
 * Rooms that an own event goes to, as the fleets know them when the run begins to watch.
 * @returns by place, their members, over all processes; of many rooms, a random part
 * @throws CapacityError DELIVERY_UNMATCHED if no connection is in any
 */
function roomsOf(sightings: Sightings[], { audience }: Delivery): ReadonlyMap<string, number> {
  const members = new Map<string, number>();
  for (const [room, count] of sightings.flatMap(({ rooms = [] }) => rooms))
    members.set(room, (members.get(room) ?? 0) + count);
  if (audience && members.size === 0) {
    throw new CapacityError(
      'DELIVERY_UNMATCHED',
      'no connection is in any room: what `delivery.audience.client` names does not exist',
      'name a variable that the flow sets before it holds, or the place of the room in the event `delivery.join`',
    );
  }
  return new Map([...members].sort(([one], [other]) => crc32(one) - crc32(other)).slice(0, MAX_ROOMS));
}

/**
 * Once connections are there, and before more of them come.
 * @throws CapacityError DELIVERY_UNMATCHED if the event arrives, and never with an id
 */
export async function checkPath({ link }: Pick<RunContext, 'link'>, { event, id, audience }: Delivery): Promise<void> {
  const sightings = await link.sight(false);
  const example = sightings.find((one) => one.example !== undefined)?.example;
  if (example === undefined || sightings.some(({ ids }) => ids.length > 0)) return;
  throw pathUnmatched(event, audience ? [id, audience.event] : [id], example);
}

export function pathUnmatched(event: string, paths: JsonPath[], example: string): CapacityError {
  const places = paths.map(formatJsonPath).join(' and ');
  return new CapacityError(
    'DELIVERY_UNMATCHED',
    `\`${event}\` arrives without a string, or a number up to 2^53, at ${places}: ${example}`,
    'correct the path in `delivery`: $.0 is the first argument after the name of the event; let the server send longer numbers as strings, because JavaScript rounds them; a room must be in the event that the server sends',
  );
}

/** The event that comes has an id and no room; the one that a publisher sends may well have one. */
export function roomMissing(event: string, path: JsonPath, example: string): CapacityError {
  return new CapacityError(
    'DELIVERY_UNMATCHED',
    `the received \`${event}\` has no room at ${formatJsonPath(path)}, the place that \`delivery.audience.event\` names: ${example}`,
    `let the server put the room into what it sends, as in io.to(room).emit('${event}', {...message, room}), and name its place in \`delivery.audience.event\`; if all connections get the event, leave \`delivery.audience\` out`,
  );
}
