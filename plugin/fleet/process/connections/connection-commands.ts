/** What the engine asks of connections: each command becomes calls on a connection's client, or waits for one. */
import { monotonicUs } from '../../../../protocol/base/clock/clock.ts';
import { SOURCE_PORTS } from '../../../../protocol/base/machine/generator-resources.ts';
import { EVENTS } from '../../../../protocol/wire/events.ts';
import type { ClientOptions, ClientSink } from '../../client/client.ts';
import type { FleetCommand } from '../../fleet-messages.ts';
import { RoomShare } from '../ledger/room-share.ts';
import type { Parts, Share } from '../process-parts.ts';
import type { Connection, EmitCommand } from './fleet-connection.ts';
import type { HeldConnections } from './held-connections.ts';
import { Listening } from './listening.ts';

/** A command for one connection. */
export type ConnectionCommand = Extract<FleetCommand, { id: number }>;
type Command<Op extends ConnectionCommand['op']> = Extract<ConnectionCommand, { op: Op }>;

const NOT_CONNECTED = { cause: 'closed', message: 'the connection has ended' } as const;

export class ConnectionCommands {
  readonly #parts: Parts;
  readonly #held: HeldConnections;
  readonly #sink: ClientSink;
  readonly #nextOptions: () => ClientOptions;
  /** If the connections join rooms in turn. */
  readonly #rooms: RoomShare | undefined;
  /** Sent again by a connection that comes back. */
  readonly #joinEvent: string | undefined;

  /** @param sink where clients report */
  constructor(parts: Parts, held: HeldConnections, sink: ClientSink) {
    this.#parts = parts;
    this.#held = held;
    this.#sink = sink;
    const { defaults, localAddresses, reconnection, ownEvent, rooms } = parts.settings;
    const options = { ...defaults, keepsSessions: reconnection !== undefined };
    this.#nextOptions = optionsInTurn(options, localAddresses, parts.share);
    this.#rooms = rooms && new RoomShare(rooms, parts.fleetShare, parts.firstId);
    this.#joinEvent = ownEvent ? ownEvent.join : EVENTS.joinRoom;
  }

  run(command: ConnectionCommand): void {
    if (command.op === 'open') this.#open(command);
    else if (command.op === 'emit') this.emit(command);
    else if (command.op === 'enter') this.#enter(command);
    else if (command.op === 'repeat') this.#repeat(command);
    else if (command.op === 'listen') this.#listen(command);
    else this.#close(command);
  }

  /** Opens a namespace, and the connection with its first one. */
  #open({ id, namespace, requestId, options }: Command<'open'>): void {
    const connection = this.#held.findOrAdd(id);
    const emit = options?.emit && { op: 'emit' as const, id, namespace, ...options.emit };
    connection.addPending({ namespace, requestId, begunAtUs: monotonicUs() }, emit);
    if (connection.client) connection.client.connect(namespace);
    // One that is away opens it when it comes back.
    else if (!connection.home?.away) {
      if (connection.attemptingSinceUs === 0) connection.attemptingSinceUs = monotonicUs();
      connection.overrides = options?.overrides;
      this.#connect(connection);
    }
  }

  /** Opens a connection again that is away. */
  attempt(connection: Connection): void {
    const { away } = connection.home ?? {};
    if (!away) return;
    this.#held.fault?.attempted(connection.id);
    this.#connect(connection, away.sessions.length > 0 ? away.slot : undefined);
  }

  #connect(connection: Connection, formerSlot?: number): void {
    const slot = this.#held.assignSlot(connection, formerSlot);
    const options = this.#nextOptions();
    const { overrides, home, listening } = connection;
    const ownOptions = overrides ? { ...options, ...overrides } : options;
    const client = this.#parts.createClient(slot, ownOptions, this.#sink, home?.away?.sessions);
    // Set before the first packet: a server can send events as soon as it has accepted the namespace.
    client.interest = listening?.names;
    connection.client = client;
    this.#parts.counts.connecting++;
    for (const namespace of connection.namespacesToOpen()) client.connect(namespace);
  }

  emit(command: EmitCommand): void {
    const connection = this.#held.find(command.id);
    if (!connection?.client) {
      this.#held.failEmit(command, NOT_CONNECTED);
      return;
    }
    const pending = connection.findPending(command.namespace);
    if (pending) pending.emits = [...pending.emits, command];
    else {
      if (command.event === this.#joinEvent) connection.keepJoin(command);
      this.send(connection, command);
    }
  }

  /** On the connection as it is now. */
  send({ client }: Connection, command: EmitCommand): void {
    const { namespace, event } = command;
    const sent = this.#rooms && event === EVENTS.joinRoom ? this.#rooms.joinsOf(command) : [command];
    for (const one of sent) {
      client?.emit(namespace, event, one.args, this.#parts.acknowledgements.request(client, one));
    }
  }

  #enter({ id, namespace, rooms }: Command<'enter'>): void {
    const connection = this.#held.find(id);
    if (!connection) return;
    connection.rooms = rooms;
    const { client, open } = connection;
    if (client && open) this.#parts.acknowledgements.connected(client, connection, [namespace]);
  }

  #repeat({ id, key, message }: Command<'repeat'>): void {
    const connection = this.#held.find(id);
    const { messages } = this.#parts;
    if (message) messages.define(key, message);
    // Its end can have been reported already; one that comes back sends then.
    if (connection) messages.start(connection, key);
  }

  #listen({ id, namespace, event, mode }: Command<'listen'>): void {
    const connection = mode === 'drop' ? this.#held.find(id) : this.#held.findOrAdd(id);
    if (!connection) return;
    connection.listening ??= new Listening();
    const { events, displaced } = connection.listening.set(namespace, event, mode);
    if (connection.client) connection.client.interest = connection.listening.names;
    const atUs = monotonicUs();
    if (mode === 'take')
      for (const args of events) this.#parts.answer({ op: 'event', id, namespace, event, args, atUs });
    this.#held.displaced(id, displaced);
  }

  #close({ id, requestId }: Command<'close'>): void {
    const connection = this.#held.findOrAdd(id);
    this.#parts.messages.end(connection);
    connection.closeRequestId = requestId;
    if (!connection.client) this.#held.leave(connection);
    else this.#parts.pacer.add(() => this.#leave(connection));
  }

  #leave(connection: Connection): void {
    const { client, open } = connection;
    if (open) client?.close();
    else if (client) {
      // A connection that never opened cannot be closed politely, and would never report its end.
      client.destroy();
      this.#held.leave(connection);
    }
  }
}

/**
 * Rotates over the source addresses, each with its own ports. It makes one object per address, not per connection: every
 * client keeps a reference to its options.
 * @returns the next connection's options at each call
 */
function optionsInTurn(defaults: ClientOptions, localAddresses: string[], share: Share): () => ClientOptions {
  if (localAddresses.length === 0) return () => defaults;
  const perAddress = localAddresses.map((localAddress) => ({
    ...defaults,
    localAddress,
    localPort: sourcePorts(share),
  }));
  let next = 0;
  return () => perAddress[next++ % perAddress.length] as ClientOptions;
}

/**
 * Assigns source ports by counting, from a random one: a new run should not reuse ports that the last run has just released. For
 * a socket bound to an address without a port, the kernel tries the odd ephemeral ports one after the other; with some thousand
 * connections open, that takes milliseconds for each new one.
 * @param share index of this process: processes with the same address use disjoint ports
 * @returns the next port at each call, starting over after the last
 */
function sourcePorts({ index, of }: Share): () => number {
  const { first, last } = SOURCE_PORTS;
  const ports = Math.floor((last - first + 1) / of);
  let next = Math.floor(Math.random() * ports);
  return () => first + index + of * (next++ % ports);
}
