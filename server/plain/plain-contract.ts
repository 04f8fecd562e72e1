/** Wire contract over WebSockets without Socket.IO. A room is a set, and a broadcast is sent to each member. */
import type { Packet } from 'socket.io-parser';
import type { WebSocket } from 'ws';
import { monotonicUs } from '../../protocol/base/clock/clock.ts';
import {
  type BroadcastMessage,
  type BroadcastRequest,
  type BroadcastSent,
  CONTRACT_EVENTS,
} from '../../protocol/wire/events.ts';
import { EXPECTED_PAYLOADS, parseEcho, roomOfJoin, textPayload } from '../contract/contract-payload.ts';
import { RoomDepartures } from '../contract/departures.ts';
import type { WorkerOwnFigures } from '../control/own-figures.ts';
import { socketIoDependencies } from '../control/versions.ts';

/** Type of a message packet in Engine.IO. */
const MESSAGE = '4';
/** Types of packets in Socket.IO. */
const CONNECT = 0;
const DISCONNECT = 1;
const EVENT = 2;
const ACK = 3;

/** Maximum number of unread bytes of a client. A client with more gets no acknowledgements. */
const MAX_UNREAD_BYTES = 2 ** 18;

const EVENT_NAMES = new Set<unknown>([CONTRACT_EVENTS.joinRoom, CONTRACT_EVENTS.broadcastEcho]);

export class PlainContract {
  /** Members of each room. */
  readonly rooms = new Map<string, Set<WebSocket>>();
  readonly #worker: string;
  readonly #metrics: WorkerOwnFigures['metrics'];
  readonly #guard: WorkerOwnFigures['guard'];
  readonly #departures = new RoomDepartures();
  readonly #parser = socketIoDependencies();
  readonly #encoder = new this.#parser.Encoder();

  constructor({ worker, metrics, guard }: Pick<WorkerOwnFigures, 'worker' | 'metrics' | 'guard'>) {
    this.#worker = worker;
    this.#metrics = metrics;
    this.#guard = guard;
  }

  /** @param text a Socket.IO packet; a malformed packet closes the connection, as in Socket.IO */
  receive(from: WebSocket, text: string): void {
    // After the close, `ws` still delivers messages that arrived before it.
    if (from.readyState !== from.OPEN) return;
    // Uses a new decoder for each packet. A shared decoder would wait for attachments of this packet, and reject the
    // next client's packet.
    const decoder = new this.#parser.Decoder();
    let packet: Packet | undefined;
    decoder.on('decoded', (decoded: Packet) => {
      packet = decoded;
    });
    try {
      decoder.add(text);
      if (packet === undefined)
        throw new Error(
          'binary messages are not supported: they need Socket.IO, and this server has plain WebSockets only',
        );
      this.#handle(from, packet);
    } catch {
      this.#guard.malformed('packet', from);
      from.close();
    }
  }

  forget(ws: WebSocket): void {
    for (const [room, members] of this.rooms) if (members.delete(ws) && members.size === 0) this.rooms.delete(room);
  }

  members(room: string): number {
    return this.rooms.get(room)?.size ?? 0;
  }

  /** Sends a broadcast. The wire contract defines the order of the message's keys. */
  async publish({ room, bytes, binary, seq, atUs }: BroadcastRequest): Promise<BroadcastSent> {
    if (binary)
      throw new Error(
        'binary messages are not supported: they need Socket.IO, and this server has plain WebSockets only',
      );
    const data = textPayload(bytes);
    const expected = this.members(room);
    if (atUs !== undefined) await this.#departures.at(atUs);
    const sentAtUs = monotonicUs();
    const message: BroadcastMessage = { seq, sentAtUs, worker: this.#worker, data };
    const text = this.#encode({ type: EVENT, nsp: '/', data: [CONTRACT_EVENTS.broadcast, message] });
    for (const ws of this.rooms.get(room) ?? []) ws.send(text);
    return { seq, sentAtUs, worker: this.#worker, expected };
  }

  #handle(from: WebSocket, packet: Packet): void {
    if (packet.type === CONNECT) {
      // All connections get the same id, because the id is never used.
      from.send(this.#encode({ type: CONNECT, nsp: packet.nsp, data: { sid: this.#worker } }));
    } else if (packet.type === DISCONNECT) {
      from.close();
    } else if (packet.type === EVENT) {
      const [event, argument] = packet.data;
      const answer = this.#answer(from, event, argument);
      if ('error' in answer) this.#guard.malformed(EVENT_NAMES.has(event) ? event : 'unknown', from);
      if (packet.id !== undefined && from.bufferedAmount < MAX_UNREAD_BYTES)
        from.send(this.#encode({ ...packet, type: ACK, data: [answer] }));
    }
  }

  #answer(from: WebSocket, event: unknown, argument: unknown): object {
    if (event === CONTRACT_EVENTS.joinRoom) {
      const room = roomOfJoin(argument);
      if (room === undefined) return { error: EXPECTED_PAYLOADS.room, code: 'JOIN_REFUSED' };
      const members = this.rooms.get(room) ?? new Set();
      this.rooms.set(room, members.add(from));
      this.#metrics.joins.inc();
      return { room, worker: this.#worker, members: members.size };
    }
    if (event !== CONTRACT_EVENTS.broadcastEcho) return { error: `expected ${[...EVENT_NAMES].join(' or ')}` };
    const echo = parseEcho(argument);
    if (echo === undefined) return { error: EXPECTED_PAYLOADS.echo };
    const roundTripUs = monotonicUs() - echo.sentAtUs;
    this.#metrics.echoRoundTripSeconds.observe(Math.max(0, roundTripUs) / 1e6);
    return { seq: echo.seq, roundTripUs };
  }

  #encode(packet: Packet): string {
    return MESSAGE + this.#encoder.encode(packet)[0];
  }
}
