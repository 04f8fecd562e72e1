/** The broadcasts of a server of somebody else's: provoked or awaited, drained, and their ledger finalized. */
import { monotonicUs } from '../../../protocol/clock.ts';
import { CapacityError } from '../../../protocol/errors.ts';
import { formatJsonPath } from '../../../protocol/json-path.ts';
import { AUDIENCE, type FreezeOrder } from '../../../protocol/link.ts';
import type { Delivery } from '../../script/settings.ts';
import { measureAfterBroadcasts } from '../at-rest.ts';
import type { SentBroadcast } from '../broadcasts.ts';
import type { RunContext } from '../context.ts';
import { noteGenerator, resetGenerator } from '../generator-loops.ts';
import type { OwnEventMeasured } from '../measurements.ts';
import type { Published } from '../receivers/publishers.ts';
import { pause } from '../wait.ts';
import { mark, windowSince } from '../windows.ts';
import { ordersOfPublished, ordersOfSeen } from './orders.ts';
import { allSeen, type Seen, seenBetween } from './seen.ts';

const POLL_MS = 250;

/** @param onDrain called when the last broadcast is out */
export async function measureOwnEvent(context: RunContext, delivery: Delivery, onDrain: () => void): Promise<void> {
  const { config, link, measurements, publishers, signal } = context;
  await resetGenerator(context);
  const begin = await mark(context);
  const { received: receivedBefore } = link.status;
  // Broadcasts that are under way now belong to nobody's count.
  await link.sight(true);
  const beganAtUs = monotonicUs();
  const published = publishers ? await publish(context, publishers) : [];
  if (!publishers) await pause(delivery.seconds * 1000, signal);
  const endedAtUs = publishers?.givesIds ? beganAtUs : monotonicUs() + (publishers ? config.drain.deadline * 1e6 : 0);
  onDrain();
  const own = new Set(published.map(({ id }) => id));
  const ofRun = (seen: Seen[]) =>
    publishers?.givesIds ? seen.filter(({ id }) => own.has(id)) : seenBetween(seen, beganAtUs, endedAtUs);
  await drain(context, ofRun, published.length);
  measurements.cpu.broadcast = await windowSince(context, begin, link.status.received - receivedBefore);
  await noteGenerator(context, 'broadcasts');
  await finalize(context, delivery, published, ofRun);
  await measureAfterBroadcasts(context);
}

async function publish(
  { measurements, record, signal }: RunContext,
  publishers: NonNullable<RunContext['publishers']>,
): Promise<Published[]> {
  const published: Published[] = [];
  await publishers.publish(
    (sent) => {
      published.push(sent);
      measurements.sent.push(asSent({ ...sent, sentAtUs: sent.emittedAtUs }));
      record.append('published', sent);
    },
    (seq, { message }) => {
      measurements.unsent.push({ seq, message });
      record.append('unsent', { seq, message });
    },
    signal,
  );
  return published;
}

/** Ends early only when every connection has got every broadcast, and nothing else has come for a while. */
async function drain(context: RunContext, ofRun: (seen: Seen[]) => Seen[], atLeast: number): Promise<void> {
  const { config, link, population, signal } = context;
  const deadlineMs = performance.now() + config.drain.deadline * 1000;
  let last = { reached: -1, atMs: performance.now() };
  while (!signal.aborted && performance.now() < deadlineMs) {
    const seen = ofRun(allSeen(await link.sight(true)));
    const reached = seen.reduce((sum, one) => sum + one.reached, 0);
    if (reached !== last.reached) last = { reached, atMs: performance.now() };
    const isComplete = reached >= Math.max(seen.length, atLeast) * population.connections();
    if (isComplete && performance.now() - last.atMs >= config.drain.quiet * 1000) return;
    await pause(POLL_MS, signal);
  }
}

async function finalize(
  { link, measurements, publishers, record }: RunContext,
  { sentAt }: Delivery,
  published: Published[],
  ofRun: (seen: Seen[]) => Seen[],
): Promise<void> {
  const sightings = await link.sight(false);
  const seen = ofRun(allSeen(sightings));
  const counted = seen.filter((one) => one.counted);
  const skipped = new Set(seen.filter((one) => !one.counted).map(({ id }) => id));
  const orders = publishers?.givesIds
    ? ordersOfPublished(
        published.filter(({ id }) => !skipped.has(id)),
        counted,
        sentAt !== undefined,
      )
    : ordersOfSeen(counted, sentAt !== undefined);
  const { broadcasts, latencyFrom, sentAtUnusable } = orders;
  measurements.sent = broadcasts.map(asSent);
  const found: Partial<OwnEventMeasured> = {
    ...{ latencyFrom, sentAtUnusable, skipped: skipped.size },
    ...{ published: published.length, seen: seen.length, bytes: meanBytes(counted) },
    example: sightings.find(({ example }) => example !== undefined)?.example,
  };
  if (measurements.ownEvent) Object.assign(measurements.ownEvent, found);
  record.append('own-event', { broadcasts, ...found });
  measurements.frozen = await link.freeze(broadcasts);
}

/** No worker says that it sent it, or to how many. */
function asSent({
  seq,
  sentAtUs,
  intendedAtUs,
}: Pick<FreezeOrder, 'seq' | 'sentAtUs' | 'intendedAtUs'>): SentBroadcast {
  return { seq, room: AUDIENCE, sentAtUs, intendedAtUs, stampedAtUs: sentAtUs, worker: '', via: 0, expected: null };
}

function meanBytes(seen: Seen[]): number {
  return Math.round(seen.reduce((sum, { bytes }) => sum + bytes, 0) / Math.max(1, seen.length));
}

/**
 * Once connections are there, and before more of them come.
 * @throws CapacityError DELIVERY_PATH_UNMATCHED if the event arrives, and never with an id
 */
export async function checkPath({ link }: RunContext, { event, id }: Delivery): Promise<void> {
  const sightings = await link.sight(false);
  const example = sightings.find((one) => one.example !== undefined)?.example;
  if (example === undefined || sightings.some(({ ids }) => ids.length > 0)) return;
  throw pathUnmatched(event, formatJsonPath(id), example);
}

export function pathUnmatched(event: string, path: string, example: string): CapacityError {
  return new CapacityError(
    'DELIVERY_PATH_UNMATCHED',
    `\`${event}\` arrives without a string or a number at ${path}: ${example}`,
    'correct the path in `delivery`: $.0 is the first argument after the name of the event',
  );
}
