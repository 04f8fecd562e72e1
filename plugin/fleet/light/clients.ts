import type { Client, ClientOptions, ClientSink, RecoverableSession } from '../client/client.ts';
import { BROADCAST, type EventPlan } from '../client/counted-event.ts';
import { type SeenEvent, SeenEvents } from '../client/seen-events.ts';
import { EventReader } from './in-place/event-reader.ts';
import { PayloadCheck } from './in-place/payload-check.ts';
import { ConnectionPool } from './pool.ts';
import { officialCodec, type PacketCodec } from './socket-io/codec.ts';
import { OffsetReader } from './socket-io/offset.ts';
import type { SocketIoShared } from './socket-io/reader.ts';
import { SocketIoConnection } from './socket-io/socket-io.ts';

/** Creates the light clients of a process, which implement Engine.IO 4 and Socket.IO 5 directly on sockets and take a few KB each. */
export class LightClients extends ConnectionPool implements SocketIoShared {
  /** The server's parser. */
  readonly codec: PacketCodec;
  /** The event that the ledger counts. */
  readonly counted: EventPlan;
  readonly inPlace: EventReader;
  readonly checks = { events: PayloadCheck.ofEvents(), acknowledgements: PayloadCheck.ofAcknowledgements() };
  readonly offsets = new OffsetReader();
  readonly events = new SeenEvents();
  readonly countedEvent: SeenEvent;

  constructor(openWire?: ConnectionPool['dial'], codec: PacketCodec = officialCodec, counted: EventPlan = BROADCAST) {
    super(openWire);
    this.codec = codec;
    this.counted = counted;
    this.inPlace = new EventReader(counted);
    this.countedEvent = this.events.named(counted.event);
  }

  create(options: ClientOptions, sink: ClientSink, sessions?: readonly RecoverableSession[]): Client {
    return new SocketIoConnection(options, sink, this, sessions);
  }
}
