/** The wire contract over WebSockets without Socket.IO: rooms are sets, and a broadcast is a send to each member. */
import type { Packet } from 'socket.io-parser';
import type { WebSocket } from 'ws';
import { monotonicUs } from '../../protocol/clock/clock.ts';
import {
  type Broadcast,
  type BroadcastEcho,
  type BroadcastOrder,
  type BroadcastSent,
  EVENTS,
} from '../../protocol/events.ts';
import { roomOf } from '../contract/contract.ts';
import { Departures } from '../contract/departures.ts';
import { payload } from '../contract/payload.ts';
import type { Metrics } from '../control/metrics.ts';
import { bundled } from '../control/versions.ts';

/** Engine.IO's packet type of a message. */
const MESSAGE = '4';
/** Socket.IO's packet types. */
const CONNECT = 0;
const DISCONNECT = 1;
const EVENT = 2;
const ACK = 3;

export class PlainContract {
  /** Members by name. A room that everybody has left stays. */
  readonly rooms = new Map<string, Set<WebSocket>>();
  readonly #worker: string;
  readonly #metrics: Metrics;
  readonly #departures = new Departures();
  // Both serve all connections: without binary data, a packet is a single text, so neither keeps anything between two.
  readonly #decoder;
  readonly #encoder;
  /** Where the text that is being decoded came from. */
  #from: WebSocket | undefined;

  constructor(worker: string, metrics: Metrics) {
    this.#worker = worker;
    this.#metrics = metrics;
    const { Encoder, Decoder } = bundled();
    this.#encoder = new Encoder();
    this.#decoder = new Decoder();
    this.#decoder.on('decoded', (packet: Packet) => this.#handle(this.#from as WebSocket, packet));
  }

  /** @param text a packet of Socket.IO's. One that cannot be read ends the connection, as in Socket.IO. */
  receive(from: WebSocket, text: string): void {
    this.#from = from;
    try {
      this.#decoder.add(text);
    } catch {
      this.#metrics.malformed.inc({ event: 'packet' });
      from.close();
    }
  }

  forget(ws: WebSocket): void {
    for (const members of this.rooms.values()) members.delete(ws);
  }

  members(room: string): number {
    return this.rooms.get(room)?.size ?? 0;
  }

  /** The keys of the message are in the order of the contract. */
  async publish({ room, bytes, binary, seq, atUs }: BroadcastOrder): Promise<BroadcastSent> {
    if (binary) throw new Error('attachments are a part of Socket.IO, which this server does without');
    const data = payload(bytes);
    const expected = this.members(room);
    if (atUs !== undefined) await this.#departures.at(atUs);
    const sentAtUs = monotonicUs();
    const message: Broadcast = { seq, sentAtUs, worker: this.#worker, data };
    const text = this.#encode({ type: EVENT, nsp: '/', data: [EVENTS.broadcast, message] });
    for (const ws of this.rooms.get(room) ?? []) ws.send(text);
    return { seq, sentAtUs, worker: this.#worker, expected };
  }

  #handle(from: WebSocket, packet: Packet): void {
    if (packet.type === CONNECT) {
      // The id is never used again.
      from.send(this.#encode({ type: CONNECT, nsp: packet.nsp, data: { sid: this.#worker } }));
    } else if (packet.type === DISCONNECT) {
      from.close();
    } else if (packet.type === EVENT) {
      const [event, argument] = packet.data;
      const answer = this.#answer(from, event, argument);
      if ('error' in answer) this.#metrics.malformed.inc({ event: String(event) });
      if (packet.id !== undefined) from.send(this.#encode({ ...packet, type: ACK, data: [answer] }));
    }
  }

  #answer(from: WebSocket, event: unknown, argument: unknown): object {
    if (event === EVENTS.joinRoom) {
      const room = roomOf(argument);
      if (room === undefined) return { error: 'expected a room or {clientKey: room}', code: 'JOIN_REFUSED' };
      const members = this.rooms.get(room) ?? new Set();
      this.rooms.set(room, members.add(from));
      this.#metrics.joins.inc();
      return { room, worker: this.#worker, members: members.size };
    }
    const { seq, sentAtUs } = (argument ?? {}) as Partial<BroadcastEcho>;
    if (event !== EVENTS.broadcastEcho || typeof seq !== 'number' || typeof sentAtUs !== 'number') {
      return { error: 'expected join_room, or broadcast_echo with {seq, sentAtUs, data} as received' };
    }
    const roundTripUs = monotonicUs() - sentAtUs;
    this.#metrics.echoRoundTripSeconds.observe(Math.max(0, roundTripUs) / 1e6);
    return { seq, roundTripUs };
  }

  #encode(packet: Packet): string {
    return MESSAGE + this.#encoder.encode(packet)[0];
  }
}
