/** Before the load: does the event come, and are its id and its time where the options say? */

import { formatJsonPath, type JsonPath, valuesAt } from '../../../protocol/base/json-path.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { AUDIENCE } from '../../../protocol/wire/rooms.ts';
import { exampleOf, idOf, roomNames } from '../../fleet/client/counted-event.ts';
import { ANY } from '../../fleet/fleet-messages.ts';
import type { Delivery } from '../../script/settings.ts';
import { connectClient } from '../receivers/connect-client.ts';
import type { Publishers } from '../receivers/publishers.ts';
import { requestHandshake } from '../receivers/request-handshake.ts';
import type { RunClient } from '../receivers/run-clients.ts';
import type { ConnectedClient, RunSocket } from '../receivers/run-connection.ts';
import { targetProblem } from '../receivers/target-problem.ts';
import { pause } from '../wait.ts';
import { findId } from './find-paths.ts';
import { pathUnmatched, roomMissing } from './own-event.ts';

/** A server may take a while to put a connection where it gets broadcasts, so a publisher tries more than once. */
const TRIES = 5;
const TRY_MS = 1000;
const MAX_OTHERS = 10;
/** Tries without an acknowledgement, if none is configured: only a server that stays silent is asked for one. */
const TRIES_UNASKED = 3;

/**
 * Listens with a client of its own.
 * @returns the other events that came where the event did not: a server may send only to those who did what the flow does;
 *   undefined if it came, or could not
 * @throws CapacityError DELIVERY_UNMATCHED, PUBLISHER_CLOSED or TARGET_UNREACHABLE
 */
export async function tryDelivery(
  client: RunClient,
  delivery: Delivery,
  publishers: Publishers | undefined,
  signal: AbortSignal,
): Promise<string[] | undefined> {
  const listener = await connectClient(client, signal);
  const { audience } = delivery;
  const [room] = audience ? roomsOf(listener, audience) : [AUDIENCE];
  try {
    if (!publishers) return await listen(listener.socket, delivery, undefined, signal);
    // Where nobody is in a room of the listener's, a publisher has none to send to.
    if (publishers.givesRooms && room === undefined) return undefined;
    // What a flow draws can put them in different places, where silence tells nothing.
    const by = publishers.came.find((one) => meet(one, listener, publishers.givesRooms ? undefined : audience));
    return by && (await listen(listener.socket, delivery, { publishers, by, room: room ?? AUDIENCE }, signal));
  } finally {
    void listener.socket.disconnect();
  }
}

type Audience = NonNullable<Delivery['audience']>;

function roomsOf({ socket: { rooms = [], joinArgs = [] } }: ConnectedClient, { client }: Audience): string[] {
  return typeof client === 'string' ? rooms : roomNames(valuesAt(joinArgs, client));
}

/** @param audience undefined where rooms do not matter @returns whether what one of them sends can come to the other */
function meet(one: ConnectedClient, other: ConnectedClient, audience: Audience | undefined): boolean {
  if (one.socket.target.namespace !== other.socket.target.namespace) return false;
  return audience === undefined || roomsOf(one, audience).some((room) => roomsOf(other, audience).includes(room));
}

async function listen(
  listener: RunSocket,
  delivery: Delivery,
  attempt: { publishers: Publishers; by: ConnectedClient; room: string } | undefined,
  signal: AbortSignal,
): Promise<string[] | undefined> {
  const { event, id: path, sentAt } = delivery;
  const own = new Set<string>();
  const others = new Set<string>();
  const arrived = Promise.withResolvers<void>();
  let replaced: [example: string, at: JsonPath | undefined] | undefined;
  const done = new AbortController();
  listener.on(ANY, (args, { event: name }) => {
    if (name !== event) {
      others.add(name);
      return;
    }
    const ids = valuesAt(args, path).map(idOf);
    const example = exampleOf(event, args);
    if (ids.length === 0 || ids.includes(undefined)) arrived.reject(pathUnmatched(event, [path], example));
    else if (attempt?.publishers.givesIds && !ids.some((id) => own.has(id as string)))
      replaced = [example, findId(args, own)];
    else if (delivery.audience && roomNames(valuesAt(args, delivery.audience.event)).length === 0)
      arrived.reject(roomMissing(event, delivery.audience.event, example));
    else if (sentAt && valuesAt(args, sentAt).length === 0) arrived.reject(pathUnmatched(event, [sentAt], example));
    else arrived.resolve();
  });
  const ended = arrived.promise.finally(() => done.abort());
  // Nobody awaits it when the tries are over.
  ended.catch(() => {});
  const untilDone = AbortSignal.any([signal, done.signal]);
  for (let tried = 0; tried < TRIES && !untilDone.aborted; tried++) {
    const id = attempt?.publishers.publishTrial(attempt.by, attempt.room, tried >= TRIES_UNASKED);
    if (id !== undefined) own.add(id);
    if (id !== undefined || !attempt) await pause(TRY_MS, untilDone);
    if (attempt && !untilDone.aborted && !attempt.by.socket.connected)
      throw await publisherClosed(attempt.by.socket, delivery.publish?.emit.event ?? '', own.size > 0);
  }
  signal.throwIfAborted();
  if (done.signal.aborted) {
    await ended;
    return undefined;
  }
  if (replaced !== undefined) throw idReplaced(event, formatJsonPath(path), ...replaced);
  return [...others].slice(0, MAX_OTHERS);
}

/** @param socket of a publisher, which has ended @param event that it emits @param isEmitted it has, before that */
export async function publisherClosed(socket: RunSocket, event: string, isEmitted: boolean): Promise<CapacityError> {
  const { text = 'it ended', fix, isExplained = false } = socket.ending ?? {};
  const answer = targetProblem(await requestHandshake(socket.target));
  const since = answer ? `; since then, the target does not answer as before: ${answer.found}` : '';
  const when = isEmitted ? `after its first \`${event}\`` : `before it emitted \`${event}\``;
  return new CapacityError(
    'PUBLISHER_CLOSED',
    `before the load, the connection of a publisher ended${isExplained && isEmitted ? '' : ` ${when}`}: ${text}${since}`,
    answer ? `start the server again, and see in its log why it ended when it got \`${event}\`` : fix,
  );
}

function idReplaced(event: string, path: string, example: string, at: JsonPath | undefined): CapacityError {
  return new CapacityError(
    'DELIVERY_UNMATCHED',
    `the id that a publisher sent does not come back at ${path} of \`${event}\`: ${example}`,
    at
      ? `it is at ${formatJsonPath(at)}: write that as \`delivery.id\``
      : 'name the place where the server passes it on; or leave `$id` out of `publish.emit`, if the server gives ids of its own',
  );
}
