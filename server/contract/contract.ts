/**
 * Handlers for the events of the measured namespace: `join_room`, `broadcast_echo`, `event_batch`. Also publishes
 * broadcasts.
 */
import { monotonicUs } from '../../protocol/base/clock/clock.ts';
import type { CapacityError } from '../../protocol/codes/errors.ts';
import {
  type BatchAck,
  type BroadcastMessage,
  type BroadcastRequest,
  type BroadcastSent,
  CONTRACT_EVENTS,
  type EchoAck,
  type JoinAck,
  type MessageRefusal,
} from '../../protocol/wire/events.ts';
import type { AnyNamespace, AnySocket } from '../any-server.ts';
import type { WorkerOwnFigures } from '../control/own-figures.ts';
import { binaryPayload, EXPECTED_PAYLOADS, parseEcho, roomOfJoin, textPayload } from './contract-payload.ts';
import type { RoomDepartures } from './departures.ts';
import { countLocalMembers, countRoomMembers, type MeasuredRooms } from './measured-rooms.ts';

type Ack<T> = ((answer: T | MessageRefusal) => void) | undefined;

/** Maximum number of connections per worker that may send broadcast echoes. A run uses one. */
export const MAX_PROBES = 100;

/** Maximum number of unread packets of a client. A client with more gets no acknowledgements. */
const MAX_UNREAD = 1000;

/**
 * Adds the handlers to every connection of the namespace. All connections share the same functions, which get the
 * connection as `this`. The guard catches errors that malformed messages cause.
 * @param rooms rooms that clients may join; undefined for any
 * @returns a function that removes the handlers
 */
export function serveContract(
  namespace: AnyNamespace,
  { worker, metrics, batches, guard }: WorkerOwnFigures,
  rooms: MeasuredRooms | undefined,
): () => void {
  const probes = new Set<string>();

  async function onJoinRoom(this: AnySocket, ...args: unknown[]): Promise<void> {
    const room = roomOfJoin(args[0]);
    const ack = ackOf<JoinAck>(this, args);
    try {
      if (this.listenerCount(CONTRACT_EVENTS.joinRoom) > 1) {
        // The server's own handler runs first and decides. This handler acknowledges only if the server's handler did
        // not.
        await undefined;
        if (room === undefined || !this.rooms.has(room)) return;
      } else {
        if (room === undefined) throw new Error(EXPECTED_PAYLOADS.room);
        await (rooms ? rooms.join(this, room) : this.join(room));
      }
      metrics.joins.inc();
      ack?.({ room, worker, members: countLocalMembers(namespace, room) });
    } catch (error) {
      const { message, fix } = error as Partial<CapacityError>;
      refuse(this, CONTRACT_EVENTS.joinRoom, ack, { error: String(message), code: 'JOIN_REFUSED', fix });
    }
  }

  function onBroadcastEcho(this: AnySocket, ...args: unknown[]): void {
    const nowUs = monotonicUs();
    const echo = parseEcho(args[0]);
    const ack = ackOf<EchoAck>(this, args);
    if (echo === undefined) {
      refuse(this, CONTRACT_EVENTS.broadcastEcho, ack, { error: EXPECTED_PAYLOADS.echo });
    } else if (!probes.has(this.id) && probes.size >= MAX_PROBES) {
      refuse(this, CONTRACT_EVENTS.broadcastEcho, ack, { error: `this worker has ${MAX_PROBES} probes already` });
    } else {
      if (!probes.has(this.id)) {
        probes.add(this.id);
        this.once('disconnect', () => probes.delete(this.id));
      }
      // The result can be negative if the publishing worker is on another host with a clock that is ahead. The client
      // corrects for both clocks.
      const roundTripUs = nowUs - echo.sentAtUs;
      metrics.echoRoundTripSeconds.observe(Math.max(0, roundTripUs) / 1e6);
      ack?.({ seq: echo.seq, roundTripUs });
    }
  }

  function onEventBatch(this: AnySocket, ...args: unknown[]): void {
    // The server has its own handler for batches, which processes the message.
    if (this.listenerCount(CONTRACT_EVENTS.eventBatch) > 1) {
      batches.skip();
      return;
    }
    const beganMs = performance.now();
    const events = Array.isArray(args[0]) ? args[0].length : 1;
    ackOf<BatchAck>(this, args)?.({ events });
    batches.add(events, performance.now() - beganMs);
  }

  function refuse(sender: AnySocket, event: string, ack: Ack<never>, refusal: MessageRefusal): void {
    ack?.(refusal);
    guard.malformed(event, sender);
  }

  const handlers = [
    [CONTRACT_EVENTS.joinRoom, guard.wrap(CONTRACT_EVENTS.joinRoom, onJoinRoom)],
    [CONTRACT_EVENTS.broadcastEcho, guard.wrap(CONTRACT_EVENTS.broadcastEcho, onBroadcastEcho)],
    [CONTRACT_EVENTS.eventBatch, guard.wrap(CONTRACT_EVENTS.eventBatch, onEventBatch)],
  ] as const;
  const onConnection = guard.wrap('connection', (socket: AnySocket) => {
    for (const [event, handler] of handlers) socket.on(event, handler);
  });

  namespace.on('connection', onConnection);
  return () => {
    namespace.off('connection', onConnection);
    for (const socket of namespace.sockets.values()) {
      for (const [event, handler] of handlers) socket.off(event, handler);
    }
  };
}

const UNCOUNTED = { members: null, otherWorkers: undefined };

/**
 * Counts the members of the room on all workers, unless `count` is false, and sends the broadcast. The wire contract
 * defines the order of the message's keys.
 * @throws CapacityError REQUEST_FAILED; nothing is sent
 */
export async function publishBroadcast(
  namespace: AnyNamespace,
  worker: string,
  order: BroadcastRequest,
  departures: RoomDepartures,
): Promise<BroadcastSent> {
  const { room, seq } = order;
  const data = order.binary ? binaryPayload(order.bytes) : textPayload(order.bytes);
  const { members: expected, otherWorkers } =
    order.count === false ? UNCOUNTED : await countRoomMembers(namespace, room);
  if (order.atUs !== undefined) await departures.at(order.atUs);
  const sentAtUs = monotonicUs();
  const message: BroadcastMessage = { seq, sentAtUs, worker, data };
  namespace.to(room).emit(CONTRACT_EVENTS.broadcast, message);
  return { seq, sentAtUs, worker, expected, ...(otherWorkers !== undefined && { otherWorkers }) };
}

/**
 * Returns the acknowledgement, which is the last argument. Undefined if there is none, or if the client does not read
 * its messages.
 */
function ackOf<T>(socket: AnySocket, args: unknown[]): Ack<T> {
  const last = args.at(-1);
  const { writeBuffer = [] } = socket.conn as unknown as { writeBuffer?: unknown[] };
  return typeof last === 'function' && writeBuffer.length < MAX_UNREAD ? (last as Ack<T>) : undefined;
}
