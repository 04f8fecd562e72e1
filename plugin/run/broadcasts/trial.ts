/**
 * Checks before the load whether the server's own event arrives, and whether id, room and time are at the configured
 * paths.
 */

import { formatJsonPath, type JsonPath, valuesAtPath } from '../../../protocol/base/json-path.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { ALL_RECEIVERS_ROOM } from '../../../protocol/wire/rooms.ts';
import { eventExample, eventJson, parseEventId, roomNames } from '../../fleet/client/counted-event.ts';
import { ANY_EVENT } from '../../fleet/fleet-messages.ts';
import type { OwnEventDelivery } from '../../script/settings.ts';
import { connectClient } from '../receivers/connect-client.ts';
import type { Publishers } from '../receivers/publishers.ts';
import { requestHandshake } from '../receivers/request-handshake.ts';
import type { RunClient } from '../receivers/run-clients.ts';
import type { ConnectedClient, RunSocket } from '../receivers/run-connection.ts';
import { targetProblem } from '../receivers/target-problem.ts';
import { abortablePause } from '../wait.ts';
import { findIdPath } from './find-paths.ts';
import { pathUnmatchedError, roomMissingError } from './own-event.ts';

/**
 * Maximum number of published test events: a server may need some time before it sends broadcasts to a new connection.
 */
const TRIES = 5;
const TRY_MS = 1000;
const MAX_OTHER_EVENTS = 10;
/** Number of test events that request no acknowledgement, unless the options request one. */
const TRIES_WITHOUT_ACK = 3;

/**
 * Connects a listener, publishes if configured, and waits for the event.
 * @returns names of the events that arrived instead of the configured event; undefined if the configured event arrived,
 * or could not reach the listener
 * @throws CapacityError DELIVERY_UNMATCHED, PUBLISHER_CLOSED or TARGET_UNREACHABLE
 */
export async function tryDelivery(
  client: RunClient,
  delivery: OwnEventDelivery,
  publishers: Publishers | undefined,
  signal: AbortSignal,
): Promise<string[] | undefined> {
  const listener = await connectClient(client, signal);
  const { audience } = delivery;
  const [room] = audience ? roomsOf(listener, audience) : [ALL_RECEIVERS_ROOM];
  try {
    if (!publishers) return await listen(listener.socket, delivery, undefined, signal);
    // The listener has joined no room, so no published event can reach it.
    if (publishers.givesRooms && room === undefined) return undefined;
    // Random values in the flow can put the publisher and the listener into different rooms.
    const by = publishers.clients.find((publisher) =>
      shareRoom(publisher, listener, publishers.givesRooms ? undefined : audience),
    );
    return (
      by && (await listen(listener.socket, delivery, { publishers, by, room: room ?? ALL_RECEIVERS_ROOM }, signal))
    );
  } finally {
    void listener.socket.disconnect();
  }
}

type Audience = NonNullable<OwnEventDelivery['audience']>;

function roomsOf({ socket: { rooms = [], joinArgs = [] } }: ConnectedClient, { client }: Audience): string[] {
  return typeof client === 'string' ? rooms : roomNames(valuesAtPath(joinArgs, client));
}

/**
 * Returns whether two clients are in the same namespace and share a room.
 * @param audience undefined if rooms do not matter
 */
function shareRoom(a: ConnectedClient, b: ConnectedClient, audience: Audience | undefined): boolean {
  if (a.socket.target.namespace !== b.socket.target.namespace) return false;
  return audience === undefined || roomsOf(a, audience).some((room) => roomsOf(b, audience).includes(room));
}

async function listen(
  listener: RunSocket,
  delivery: OwnEventDelivery,
  attempt: { publishers: Publishers; by: ConnectedClient; room: string } | undefined,
  signal: AbortSignal,
): Promise<string[] | undefined> {
  const { event, id: path, sentAt } = delivery;
  const publishedIds = new Set<string>();
  const otherEvents = new Set<string>();
  const arrived = Promise.withResolvers<void>();
  let replaced: [example: string, at: JsonPath | undefined] | undefined;
  const done = new AbortController();
  listener.on(ANY_EVENT, (args, { event: name }) => {
    if (name !== event) {
      otherEvents.add(name);
      return;
    }
    const ids = valuesAtPath(args, path).map(parseEventId);
    const example = eventExample(eventJson(delivery, args));
    if (ids.length === 0 || ids.includes(undefined)) arrived.reject(pathUnmatchedError(event, [path], example));
    else if (attempt?.publishers.givesIds && !ids.some((id) => publishedIds.has(id as string)))
      replaced = [example, findIdPath(args, publishedIds)];
    else if (delivery.audience && roomNames(valuesAtPath(args, delivery.audience.event)).length === 0)
      arrived.reject(roomMissingError(event, delivery.audience.event, example));
    else if (sentAt && valuesAtPath(args, sentAt).length === 0)
      arrived.reject(pathUnmatchedError(event, [sentAt], example));
    else arrived.resolve();
  });
  const ended = arrived.promise.finally(() => done.abort());
  // Prevents an unhandled rejection, because the last attempt does not await this promise.
  ended.catch(() => {});
  const untilDone = AbortSignal.any([signal, done.signal]);
  for (let tried = 0; tried < TRIES && !untilDone.aborted; tried++) {
    const id = attempt?.publishers.publishTrial(attempt.by, attempt.room, tried >= TRIES_WITHOUT_ACK);
    if (id !== undefined) publishedIds.add(id);
    if (id !== undefined || !attempt) await abortablePause(TRY_MS, untilDone);
    if (attempt && !untilDone.aborted && !attempt.by.socket.connected)
      throw await publisherClosed(attempt.by.socket, delivery.publish?.emit.event ?? '', publishedIds.size > 0);
  }
  signal.throwIfAborted();
  if (done.signal.aborted) {
    await ended;
    return undefined;
  }
  if (replaced !== undefined) throw idReplaced(event, formatJsonPath(path), ...replaced);
  return [...otherEvents].slice(0, MAX_OTHER_EVENTS);
}

/**
 * Error for a publisher whose connection closed during the test.
 * @param socket socket of the publisher
 * @param event name of the event that the publisher emits
 * @param isEmitted whether the publisher had emitted the event before the close
 */
export async function publisherClosed(socket: RunSocket, event: string, isEmitted: boolean): Promise<CapacityError> {
  const { text = 'it ended', fix, isExplained = false } = socket.ending ?? {};
  const problem = targetProblem(await requestHandshake(socket.target));
  const since = problem ? `; since then, the target does not answer as before: ${problem.found}` : '';
  const when = isEmitted ? `after its first \`${event}\`` : `before it emitted \`${event}\``;
  return new CapacityError(
    'PUBLISHER_CLOSED',
    `before the load, the connection of a publisher ended${isExplained && isEmitted ? '' : ` ${when}`}: ${text}${since}`,
    problem ? `start the server again, and see in its log why it stopped when it received \`${event}\`` : fix,
  );
}

function idReplaced(event: string, path: string, example: string, at: JsonPath | undefined): CapacityError {
  return new CapacityError(
    'DELIVERY_UNMATCHED',
    `the published id is not at ${path} of the received \`${event}\`: ${example}`,
    at
      ? `it is at ${formatJsonPath(at)}: set \`delivery.id\` to that path`
      : 'set `delivery.id` to the path at which the server passes it on; or leave `$id` out of `publish.emit`, if the server chooses ids itself',
  );
}
