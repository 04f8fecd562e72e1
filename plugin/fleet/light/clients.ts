/** The light clients of a process. */
import type { Client, ClientOptions, ClientSink, RecoverableSession } from '../client/client.ts';
import { BROADCAST, type EventPlan } from '../client/counted-event.ts';
import { EventReader } from './in-place/event-reader.ts';
import { ConnectionPool } from './pool.ts';
import { officialCodec, type PacketCodec } from './socket-io/codec.ts';
import { OffsetReader } from './socket-io/offset.ts';
import type { SocketIoShared } from './socket-io/reader.ts';
import { SocketIoConnection } from './socket-io/socket-io.ts';

/**
 * Creates clients that speak Engine.IO 4 and Socket.IO 5 over WebSocket directly on TCP and TLS sockets, at a few KB
 * each.
 */
export class LightClients extends ConnectionPool implements SocketIoShared {
  readonly codec: PacketCodec;
  readonly counted: EventPlan;
  readonly inPlace: EventReader;
  readonly offsets = new OffsetReader();

  /**
   * @param openWire as for `ConnectionPool`
   * @param codec the server's parser
   * @param counted the event that the ledger counts
   */
  constructor(openWire?: ConnectionPool['dial'], codec: PacketCodec = officialCodec, counted: EventPlan = BROADCAST) {
    super(openWire);
    this.codec = codec;
    this.counted = counted;
    this.inPlace = new EventReader(counted);
  }

  /**
   * @param slot dense number: the ledger's index, never reused
   * @param sessions of the client before, which the server may restore
   */
  create(slot: number, options: ClientOptions, sink: ClientSink, sessions?: readonly RecoverableSession[]): Client {
    return new SocketIoConnection(slot, options, sink, this, sessions);
  }
}
