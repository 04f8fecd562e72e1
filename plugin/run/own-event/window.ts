/** The broadcasts of a server of somebody else's: provoked or awaited, drained, and their ledger finalized. */
import { crc32 } from 'node:zlib';
import { monotonicUs } from '../../../protocol/clock/clock.ts';
import { CapacityError } from '../../../protocol/errors.ts';
import { formatJsonPath, type JsonPath } from '../../../protocol/json-path.ts';
import type { Sightings } from '../../../protocol/link/sightings.ts';
import type { Delivery } from '../../script/settings.ts';
import { BROADCAST_PARTS, beginsPart } from '../broadcasts/window.ts';
import type { RunContext } from '../context.ts';
import type { OwnEventMeasured } from '../measurements/own-event.ts';
import { measureAfterBroadcasts } from '../memory/at-rest.ts';
import { MOST_DEADLINES, pause, Since, until } from '../wait.ts';
import { Windows } from '../windows/cpu.ts';
import { noteGenerator, resetGenerator } from '../windows/generator-loops.ts';
import { Finalizer } from './finalizer.ts';
import { asSent } from './rows.ts';

const POLL_MS = 250;
/** While broadcasts are published. */
const LOOK_MS = 1000;
/** As in each process: beyond that, not all that have a member name a room. */
const MAX_ROOMS = 1000;

/** @param onDrain called when the last broadcast is out */
export async function measureOwnEvent(context: RunContext, delivery: Delivery, onDrain: () => void): Promise<void> {
  const { link, measurements, publishers, signal } = context;
  await resetGenerator(context);
  const { received: receivedBefore } = link.status;
  const windows = new Windows(context, () => link.status.received - receivedBefore);
  // Broadcasts that are under way now belong to nobody's count.
  const rooms = roomsOf(await link.sight(true), delivery);
  const finalizer = new Finalizer(context, delivery, rooms);
  const published = await whileLooking(context, finalizer, async () => {
    if (publishers) return publish(context, publishers, delivery, { finalizer, windows, rooms: [...rooms.keys()] });
    await listen(delivery, windows, signal);
    return 0;
  });
  // Copies of what the publishers sent may come as late as the drain allows.
  if (!publishers) finalizer.end(monotonicUs());
  onDrain();
  await drain(context, finalizer, published);
  finalizer.end(monotonicUs());
  measurements.cpu.broadcasts = await windows.end();
  await noteGenerator(context, 'broadcasts');
  await finish(context, finalizer, published);
  await measureAfterBroadcasts(context);
}

/**
 * The rooms that an own event goes to, as the fleets know them when the run begins to watch.
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

/** Makes room in the ledgers meanwhile. */
async function whileLooking<T>({ signal }: RunContext, finalizer: Finalizer, run: () => Promise<T>): Promise<T> {
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
    return await run();
  } finally {
    done.abort();
    await looking;
  }
}

/** @returns how many were published */
async function publish(
  { measurements, signal }: RunContext,
  publishers: NonNullable<RunContext['publishers']>,
  { publish: planned }: Delivery,
  { finalizer, windows, rooms }: { finalizer: Finalizer; windows: Windows; rooms: string[] },
): Promise<number> {
  let published = 0;
  await publishers.publish(
    (sent) => {
      if (beginsPart(sent.seq - 1, planned?.count ?? 0)) void windows.next();
      published++;
      finalizer.published(sent);
      const { seq, room, emittedAtUs, intendedAtUs } = sent;
      measurements.sent.push(asSent({ seq, room, sentAtUs: emittedAtUs, intendedAtUs }));
    },
    (seq, publisherEnd) => {
      const message = `the connection of its publisher had ended: ${publisherEnd}`;
      measurements.unsent.push({ seq, message, publisherEnd });
    },
    signal,
    rooms,
  );
  return published;
}

/** The server's broadcasts come when they come, so the parts are as long as each other. */
async function listen({ seconds }: Delivery, windows: Windows, signal: AbortSignal): Promise<void> {
  for (let part = 0; part < BROADCAST_PARTS && !signal.aborted; part++) {
    if (part > 0) void windows.next();
    await pause((seconds * 1000) / BROADCAST_PARTS, signal);
  }
}

/**
 * Ends early only when every connection has got every broadcast, and nothing else has come for a while. A backlog is waited for
 * while copies come. A server that broadcasts all the time is never quiet: then the deadline counts from when all had come.
 */
async function drain(context: RunContext, finalizer: Finalizer, published: number): Promise<void> {
  const { config, measurements, signal } = context;
  const [quietMs, deadlineMs] = [config.drain.quiet * 1000, config.drain.deadline * 1000];
  const reachedSince = new Since();
  const beganMs = performance.now();
  let completeAtMs = Number.POSITIVE_INFINITY;
  let missing = 0;
  const isOver = async () => {
    const { broadcasts, expected, reached } = await finalizer.look();
    const stillMs = reachedSince.same(reached);
    missing = Number.isFinite(expected) ? Math.max(0, expected - reached) : 0;
    // With ids of the server's, those of the publishers' broadcasts are among them.
    const isComplete = broadcasts >= published - finalizer.seen && reached >= expected;
    if (!isComplete) return stillMs > deadlineMs;
    completeAtMs = Math.min(completeAtMs, performance.now());
    return stillMs >= quietMs || performance.now() - completeAtMs > deadlineMs;
  };
  const ended = await until(isOver, MOST_DEADLINES * deadlineMs, signal, POLL_MS);
  const seconds = (performance.now() - beganMs) / 1000;
  if (!ended && !signal.aborted) measurements.tailCut = { copies: missing, unconfirmed: 0, seconds };
}

async function finish(
  { measurements, publishers }: RunContext,
  finalizer: Finalizer,
  published: number,
): Promise<void> {
  await finalizer.finish();
  const { rows, basis, seen, skipped, bytes, example, idsBeside } = finalizer;
  measurements.sent = rows.sent;
  measurements.frozen = rows.frozen;
  const found: Partial<OwnEventMeasured> = {
    ...{ latencyFrom: basis.from, sentAtUnusable: basis.unusable, untimed: basis.untimed },
    ...{ published, seen, skipped, bytes, example, idsBeside },
    ...(publishers && { acknowledged: publishers.acknowledged, unacknowledged: publishers.unacknowledged }),
  };
  if (measurements.ownEvent) Object.assign(measurements.ownEvent, found, { each: rows.each });
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
