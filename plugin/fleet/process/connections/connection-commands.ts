/** What the engine asks of connections: each command becomes calls on a connection's client, or waits for one. */
import { monotonicUs } from '../../../../protocol/clock/clock.ts';
import { EVENTS } from '../../../../protocol/events.ts';
import type { FleetAnswer, FleetCommand, FleetSettings } from '../../messages.ts';
import type { Pacer } from '../../pacer.ts';
import type { RoomShare } from '../ledger/room-share.ts';
import { KeptEvents } from '../messages/kept-events.ts';
import type { RepeatedMessages } from '../messages/repeated-messages.ts';
import type { ClientFactory } from './client-factory.ts';
import { type ConnectionState, type EmitCommand, findPending, namespacesToOpen } from './connection-state.ts';
import type { HeldConnections } from './held-connections.ts';
import { withJoin } from './home.ts';

interface ConnectionCommandsDependencies {
  settings: Pick<FleetSettings, 'ownEvent'>;
  held: HeldConnections;
  clients: ClientFactory;
  /** If the connections join rooms in turn. */
  rooms: RoomShare | undefined;
  messages: RepeatedMessages;
  pacer: Pacer;
  answer: (answer: FleetAnswer) => void;
}

export class ConnectionCommands {
  readonly #dependencies: ConnectionCommandsDependencies;
  readonly #held: HeldConnections;
  /** Sent again by a connection that comes back. */
  readonly #joinEvent: string | undefined;

  constructor(dependencies: ConnectionCommandsDependencies) {
    this.#dependencies = dependencies;
    this.#held = dependencies.held;
    const { ownEvent } = dependencies.settings;
    this.#joinEvent = ownEvent ? ownEvent.join : EVENTS.joinRoom;
  }

  /** Opens a namespace, and the connection with its first one. */
  open(command: Extract<FleetCommand, { op: 'open' }>): void {
    const connection = this.#held.table.findOrAdd(command.id);
    const { namespace, requestId, options } = command;
    const emits = options?.emit && [{ op: 'emit' as const, id: command.id, namespace, ...options.emit }];
    connection.pending = connection.pending.concat({ namespace, requestId, begunAtUs: monotonicUs(), emits });
    // One that is away opens it when it comes back.
    if (!connection.client && !connection.home?.away) {
      this.#held.counts.attempts++;
      this.#held.counts.connecting++;
      if (connection.attemptingSinceUs === 0) connection.attemptingSinceUs = monotonicUs();
      connection.overrides = options?.overrides;
      const slot = this.#held.table.assignSlot(connection);
      connection.client = this.#dependencies.clients.create(slot, connection);
      // Set before the first packet: a server can send events as soon as it has accepted the namespace.
      if (command.interest) connection.client.interest = new Set(command.interest);
      for (const name of command.keep ?? []) keptOf(connection).hold(name);
    }
    connection.client?.connect(namespace);
  }

  /** Of a connection that is away. */
  attempt(connection: ConnectionState): void {
    const { away } = connection.home ?? {};
    if (!away) return;
    this.#held.fault?.attempted(connection.id);
    this.#held.counts.attempts++;
    this.#held.counts.connecting++;
    connection.portTries = 0;
    const slot =
      away.sessions.length > 0
        ? this.#held.table.keepSlot(connection, away.slot)
        : this.#held.table.assignSlot(connection);
    connection.client = this.#dependencies.clients.create(slot, connection);
    connection.client.interest = away.interest;
    for (const namespace of namespacesToOpen(connection)) connection.client.connect(namespace);
  }

  emit(command: EmitCommand): void {
    const { namespace, event } = command;
    const connection = this.#held.table.find(command.id);
    const client = connection?.client;
    if (!client) return; // its end has been reported already
    const pending = findPending(connection, namespace);
    if (pending) {
      pending.emits = [...(pending.emits ?? []), command];
      return;
    }
    const { home } = connection;
    if (home && event === this.#joinEvent && command.isRepeat !== true) home.joins = withJoin(home.joins, command);
    const sent =
      this.#dependencies.rooms && event === EVENTS.joinRoom ? this.#dependencies.rooms.joinsOf(command) : [command];
    for (const one of sent) client.emit(namespace, event, one.args, this.#held.acknowledgements.request(client, one));
  }

  repeat({ id, key, message }: Extract<FleetCommand, { op: 'repeat' }>): void {
    const connection = this.#held.table.find(id);
    const { messages } = this.#dependencies;
    if (message) messages.define(key, message);
    // Its end can have been reported already; one that comes back sends then.
    if (connection) messages.start(connection, key);
  }

  interest({ id, event, wanted }: Extract<FleetCommand, { op: 'interest' }>): void {
    const connection = this.#held.table.find(id);
    // The next client gets it, or the one that is about to bring the connection back.
    for (const holder of [connection?.home?.away, connection?.client]) {
      if (!holder) continue;
      if (wanted) {
        holder.interest ??= new Set();
        holder.interest.add(event);
      } else if (holder.interest?.delete(event) && holder.interest.size === 0) holder.interest = undefined;
    }
  }

  keep({ id, namespace, event, mode }: Extract<FleetCommand, { op: 'keep' }>): void {
    const connection = this.#held.table.find(id);
    if (!connection) return;
    if (mode === 'hold') {
      keptOf(connection).hold([namespace, event]);
      return;
    }
    const { events, displaced } = keptOf(connection).take([namespace, event]);
    if (mode === 'drop') this.#held.displaced(id, displaced);
    else if (events.length > 0) {
      this.#dependencies.answer({ op: 'kept', id, namespace, event, events, displaced });
    }
  }

  close({ id, requestId }: Extract<FleetCommand, { op: 'close' }>): void {
    const connection = this.#held.table.find(id);
    if (connection) this.#dependencies.messages.end(connection);
    if (!connection?.client) {
      this.#held.displaced(id, connection?.kept?.displaced ?? 0);
      if (connection) this.#held.returns.cancel(connection);
      if (connection) this.#held.failPending(connection, 'closed', 'closed by the virtual user');
      this.#held.table.delete(id);
      this.#dependencies.answer({ op: 'left', requestId });
      return;
    }
    connection.closeRequestId = requestId;
    this.#dependencies.pacer.add(() => {
      // A connection that never opened cannot be closed politely, and would never report its end.
      if (connection.client && !connection.open) {
        connection.client.destroy();
        this.#held.counts.connecting--;
        this.#held.failPending(connection, 'closed', 'closed by the virtual user');
        this.#held.forget(connection);
      } else connection.client?.close();
    });
  }
}

function keptOf(connection: ConnectionState): KeptEvents {
  connection.kept ??= new KeptEvents();
  return connection.kept;
}
