import type { Client, ClientOptions, ClientSink, RecoverableSession } from '../client/client.ts';
import type { EventPlan } from '../client/counted-event.ts';
import { SeenEvents } from '../client/seen-events.ts';
import { EventReader } from './in-place/event-reader.ts';
import { KnownEvent } from './in-place/known-event.ts';
import { isEventName, PayloadCheck } from './in-place/payload-check.ts';
import { ConnectionPool } from './pool.ts';
import { officialCodec, type PacketCodec } from './socket-io/codec.ts';
import type { SocketIoShared } from './socket-io/reader.ts';
import { SocketIoConnection } from './socket-io/socket-io.ts';

/**
 * Creates the light clients of a process. They implement Engine.IO 4 and Socket.IO 5 directly on sockets, and take a
 * few KB per connection.
 */
export class LightClients extends ConnectionPool implements SocketIoShared {
  /** Codec of the Socket.IO parser that the server uses. */
  readonly codec: PacketCodec;
  readonly counted: EventPlan | undefined;
  readonly inPlace: EventReader | undefined;
  readonly events = new SeenEvents();
  readonly checks = {
    events: new PayloadCheck(([name, ...args], bytes, start, end) =>
      isEventName(name)
        ? new KnownEvent(name, args, end - start, this.events.of(bytes, start, end), this.counted)
        : undefined,
    ),
    acknowledgements: new PayloadCheck((payload) => payload),
  };

  /** @param counted the event that the ledger counts; undefined if there is no ledger */
  constructor(openWire?: ConnectionPool['dial'], codec: PacketCodec = officialCodec, counted?: EventPlan) {
    super(openWire);
    this.codec = codec;
    this.counted = counted;
    this.inPlace = counted && new EventReader(counted);
    if (counted) this.events.named(counted.event);
  }

  create(options: ClientOptions, sink: ClientSink, sessions?: readonly RecoverableSession[]): Client {
    return new SocketIoConnection(options, sink, this, sessions);
  }
}
