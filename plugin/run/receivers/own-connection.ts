/** A connection of one of the run's own clients: a fleet's, with what the run has to know of it beside the flow. */
import { OWN_DISCONNECT } from '../../../protocol/wire/connection.ts';
import type { ClientState } from '../../fleet/client/client.ts';
import type { RepeatedMessage } from '../../fleet/client/repeated-message.ts';
import type { FleetError } from '../../fleet/fleet-error.ts';
import { ANY, type End, type ListenMode, type OpenOptions } from '../../fleet/fleet-messages.ts';
import type {
  EventListener,
  FleetConnection,
  Opened,
  RemoteConnection,
  Watcher,
} from '../../fleet/remote-connection.ts';
import type { ConnectionTarget } from '../../script/connection-target.ts';
import { type Ending, endingOf } from '../measurements/end-words.ts';

export const CONNECT_TIMEOUT_MS = 10_000;
/** Longer than any run: the end of the connection ends the wait. */
const NO_TIMEOUT_MS = 24 * 3_600_000;

export interface Listeners {
  /** Gets all events, also those that the server sends at once. */
  onAny?: ((event: string, args: unknown[]) => void) | undefined;
  /** Gets the acknowledgements of events for which the run asks for one. */
  onAck?: ((event: string, args: unknown[]) => void) | undefined;
}

export type { End };

interface Options {
  defaults: ConnectionTarget;
  listeners: Listeners;
  /** Events whose acknowledgement the run asks for, whether or not the flow does. */
  asked: readonly string[];
}

export class OwnConnection implements FleetConnection {
  /** The last attempt that failed. */
  failure: { target: ConnectionTarget; error: FleetError } | undefined;
  /** By namespace, in the order in which they were opened. */
  readonly sockets = new Map<string, OwnSocket>();
  readonly remote: RemoteConnection;
  /** The run detects the loss of its own clients separately, so it is no loss of the load. */
  readonly isLost = false;
  readonly #options: Options;
  #watcher: Partial<Watcher> = {};

  constructor(remote: RemoteConnection, options: Options) {
    this.remote = remote;
    this.#options = options;
    // It does not reconnect, and no report of its user counts what was displaced.
    remote.watch({
      opened: (namespace) => this.#watcher.opened?.(namespace, this),
      dropped: (reason, namespace, _returns, _remote, end) => this.#dropped(reason, namespace, end),
      refused: (error) => this.#watcher.refused?.(error),
    });
  }

  async open(namespace: string, { overrides, emit }: OpenOptions = {}): Promise<Opened> {
    const { defaults, listeners } = this.#options;
    const target = { ...defaults, ...overrides, namespace };
    const { onAny } = listeners;
    if (onAny) this.listen(namespace, ANY, (args, { event }) => onAny(event, args))('take');
    this.sockets.set(namespace, new OwnSocket(this, target));
    const { namespace: _, ...connecting } = { ...target, connectTimeoutMs: CONNECT_TIMEOUT_MS };
    try {
      const opened = await this.remote.open(namespace, { overrides: connecting });
      if (emit) this.emit(namespace, emit.event, emit.args);
      return opened;
    } catch (error) {
      this.failure = { target, error: error as FleetError };
      this.sockets.delete(namespace);
      throw error;
    }
  }

  emit(namespace: string, event: string, args: unknown[]): void {
    const { asked, listeners } = this.#options;
    if (!asked.includes(event)) {
      this.remote.emit(namespace, event, args);
      return;
    }
    this.emitWithAck(namespace, event, args, NO_TIMEOUT_MS).then(
      (answer) => listeners.onAck?.(event, answer),
      () => {}, // The connection has ended, which is reported by itself.
    );
  }

  emitWithAck(namespace: string, event: string, args: unknown[], timeoutMs = NO_TIMEOUT_MS): Promise<unknown[]> {
    const socket = this.sockets.get(namespace);
    if (socket && this.#options.asked.includes(event)) socket.joined = args;
    return this.remote.emitWithAck(namespace, event, args, timeoutMs);
  }

  listen(namespace: string, event: string, listener: EventListener): (mode: ListenMode) => void {
    return this.remote.listen(namespace, event, listener);
  }

  enter(rooms: string[], namespace: string): void {
    const socket = this.sockets.get(namespace);
    if (socket) socket.rooms = rooms;
  }

  repeat(message: RepeatedMessage): void {
    this.remote.repeat(message);
  }

  watch(watcher: Partial<Watcher>): void {
    this.#watcher = watcher;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets.values()) socket.end(OWN_DISCONNECT);
    await this.remote.close();
  }

  #dropped(reason: string, namespace: string | undefined, end: End | undefined): void {
    for (const socket of this.sockets.values()) {
      if (namespace === undefined || socket.target.namespace === namespace) socket.end(reason, end);
    }
    this.#watcher.dropped?.(reason, namespace, false, this);
    if (namespace === undefined) void this.remote.close();
  }
}

/** One namespace of a client of the run. */
export class OwnSocket {
  /** How it was made, with what the flow has brought. */
  readonly target: ConnectionTarget;
  /** Arguments of the event by which it joined. */
  joined: unknown[] | undefined;
  /** Rooms that its user has named. */
  rooms: string[] | undefined;
  /** Socket.IO's reason of its end; undefined while it is open. */
  endReason: string | undefined;
  /** What is known of its end beside the reason. */
  #end: End | undefined;
  readonly #connection: OwnConnection;
  readonly #ended = Promise.withResolvers<{ reason: string; end: End | undefined }>();

  constructor(connection: OwnConnection, target: ConnectionTarget) {
    this.#connection = connection;
    this.target = target;
  }

  get connected(): boolean {
    return this.endReason === undefined;
  }

  /** Undefined while it is open, or if it was the run that closed it. */
  get ending(): Ending | undefined {
    if (this.#end) return endingOf(this.#end.found);
    const { endReason } = this;
    if (endReason === undefined || endReason === OWN_DISCONNECT) return undefined;
    return { text: `it ended (${endReason})`, isExplained: false };
  }

  /** Resolves when it has ended, whichever side ended it. */
  get ended(): Promise<{ reason: string; end: End | undefined }> {
    return this.#ended.promise;
  }

  /** @returns ends it */
  on(event: string, listener: EventListener): () => void {
    const change = this.#connection.listen(this.target.namespace, event, listener);
    change('take');
    return () => change('drop');
  }

  emit(event: string, args: unknown[]): void {
    this.#connection.remote.emit(this.target.namespace, event, args);
  }

  /** @throws FleetError `ack_timeout`, or the end of the connection */
  ask(event: string, args: unknown[], timeoutMs = NO_TIMEOUT_MS): Promise<unknown[]> {
    return this.#connection.remote.emitWithAck(this.target.namespace, event, args, timeoutMs);
  }

  /** @returns undefined if it is not open */
  describe(): Promise<ClientState | undefined> {
    return this.#connection.remote.describe();
  }

  end(reason: string, end?: End): void {
    if (this.endReason === undefined) this.#end = end;
    this.endReason ??= reason;
    this.#ended.resolve({ reason, end });
  }

  /** Closes the connection, with all its namespaces. Idempotent. */
  disconnect(): Promise<void> {
    return this.#connection.close();
  }
}

/** A client that has connected. */
export interface Came {
  /** In the namespace of its flow. When it is disconnected, all that the client has opened is. */
  socket: OwnSocket;
  /** Variables that its flow has set. */
  learned?: Record<string, unknown>;
}
