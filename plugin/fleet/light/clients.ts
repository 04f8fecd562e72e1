/** The light clients of a process. */
import type {
  Client,
  ClientOptions,
  ClientSink,
  CountedEvent,
  InPlaceReader,
  RecoverableSession,
} from '../client/client.ts';
import { contractEvent } from '../client/decoded-broadcast.ts';
import { BroadcastReader } from './in-place/broadcast.ts';
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
  readonly counted: CountedEvent;
  readonly inPlace: InPlaceReader;
  readonly offsets = new OffsetReader();

  /**
   * @param openWire as for `ConnectionPool`
   * @param codec the server's parser
   * @param counted the event that the ledger counts
   * @param inPlace reads the same event
   */
  constructor(
    openWire?: SocketIoShared['dial'],
    codec: PacketCodec = officialCodec,
    counted: CountedEvent = contractEvent,
    inPlace: InPlaceReader = new BroadcastReader(),
  ) {
    super(openWire);
    this.codec = codec;
    this.counted = counted;
    this.inPlace = inPlace;
  }

  /**
   * @param slot dense number: the ledger's index, never reused where that remembers connections that have left
   * @param sessions of the client before, which the server may restore
   */
  create(slot: number, options: ClientOptions, sink: ClientSink, sessions?: readonly RecoverableSession[]): Client {
    return new SocketIoConnection(slot, options, sink, this, sessions);
  }
}
