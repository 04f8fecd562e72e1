/** The light clients of a process. */
import type { Client, ClientOptions, ClientSink } from '../client.ts';
import { BroadcastReader } from './broadcast.ts';
import { officialCodec, type PacketCodec } from './codec.ts';
import { ConnectionPool } from './pool.ts';
import { SocketIoConnection, type SocketIoShared } from './socket-io.ts';

/**
 * Creates clients that speak Engine.IO 4 and Socket.IO 5 over WebSocket directly on TCP and TLS sockets, at a few KB
 * each.
 */
export class LightClients extends ConnectionPool implements SocketIoShared {
  readonly broadcasts = new BroadcastReader();
  readonly codec: PacketCodec;

  /**
   * @param openWire as for `ConnectionPool`
   * @param codec the server's parser
   */
  constructor(openWire?: SocketIoShared['dial'], codec: PacketCodec = officialCodec) {
    super(openWire);
    this.codec = codec;
  }

  /** @param slot dense number, never reused: the ledger's index */
  create(slot: number, options: ClientOptions, sink: ClientSink): Client {
    return new SocketIoConnection(slot, options, sink, this);
  }
}
