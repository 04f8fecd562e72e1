/**
 * A connection of one of the run's own clients. It records failures, rooms, and the reason why each namespace closed.
 */
import { CLIENT_DISCONNECT_REASON } from '../../../protocol/wire/connection.ts';
import type { ClientState, RepeatedMessage } from '../../fleet/client/client.ts';
import type { FleetError } from '../../fleet/client/failure.ts';
import { ANY_EVENT, type ListenMode, type OfficialClientEnd, type OpenOptions } from '../../fleet/fleet-messages.ts';
import type {
  ConnectionWatcher,
  EventListener,
  FleetConnection,
  OpenTimes,
  RemoteConnection,
} from '../../fleet/remote-connection.ts';
import type { ConnectionTarget } from '../../script/connection-target.ts';
import { type CloseDescription, describeClose } from '../measurements/close-descriptions.ts';

export const RUN_CLIENT_TIMEOUT_MS = 10_000;
/** A timeout longer than any run, because the wait ends when the connection closes. */
const NO_TIMEOUT_MS = 24 * 3_600_000;

export interface RunConnectionListeners {
  /** Receives all events, including events that the server sends right after the connect. */
  onAny?: ((event: string, args: unknown[]) => void) | undefined;
  /** Receives the acknowledgements that the run requested. */
  onAck?: ((event: string, args: unknown[]) => void) | undefined;
}

export type { OfficialClientEnd };

interface Options {
  defaults: ConnectionTarget;
  listeners: RunConnectionListeners;
  /** Events for which the run requests an acknowledgement, even if the flow requests none. */
  ackEvents: readonly string[];
}

export class RunConnection implements FleetConnection {
  failure: { target: ConnectionTarget; error: FleetError } | undefined;
  /** Sockets by namespace, in the order of their opening. */
  readonly sockets = new Map<string, RunSocket>();
  readonly remote: RemoteConnection;
  /**
   * Whether the connection counts as lost. Always false, because the run reports lost clients of its own separately.
   */
  readonly isLost = false;
  readonly #options: Options;
  #watcher: Partial<ConnectionWatcher> = {};

  constructor(remote: RemoteConnection, options: Options) {
    this.remote = remote;
    this.#options = options;
    // The handlers `returned` and `displaced` are not needed, because the run's clients do not reconnect.
    remote.watch({
      opened: (namespace) => this.#watcher.opened?.(namespace, this),
      dropped: (reason, namespace, _returns, _remote, end) => this.#dropped(reason, namespace, end),
      refused: (error) => this.#watcher.refused?.(error),
    });
  }

  async open(namespace: string, { overrides, emit }: OpenOptions = {}): Promise<OpenTimes> {
    const { defaults, listeners } = this.#options;
    const target = { ...defaults, ...overrides, namespace };
    const { onAny } = listeners;
    if (onAny) this.listen(namespace, ANY_EVENT, (args, { event }) => onAny(event, args))('take');
    this.sockets.set(namespace, new RunSocket(this, target));
    const { namespace: _, ...connecting } = { ...target, connectTimeoutMs: RUN_CLIENT_TIMEOUT_MS };
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
    const { ackEvents, listeners } = this.#options;
    if (!ackEvents.includes(event)) {
      this.remote.emit(namespace, event, args);
      return;
    }
    this.emitWithAck(namespace, event, args, NO_TIMEOUT_MS).then(
      (answer) => listeners.onAck?.(event, answer),
      () => {},
    );
  }

  emitWithAck(namespace: string, event: string, args: unknown[], timeoutMs = NO_TIMEOUT_MS): Promise<unknown[]> {
    const socket = this.sockets.get(namespace);
    if (socket && this.#options.ackEvents.includes(event)) socket.joinArgs = args;
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

  watch(watcher: Partial<ConnectionWatcher>): void {
    this.#watcher = watcher;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets.values()) socket.end(CLIENT_DISCONNECT_REASON);
    await this.remote.close();
  }

  #dropped(reason: string, namespace: string | undefined, end: OfficialClientEnd | undefined): void {
    for (const socket of this.sockets.values()) {
      if (namespace === undefined || socket.target.namespace === namespace) socket.end(reason, end);
    }
    this.#watcher.dropped?.(reason, namespace, false, this);
    if (namespace === undefined) void this.remote.close();
  }
}

/** A namespace on the connection of one of the run's own clients. */
export class RunSocket {
  /** Options of the connection, including options that the flow sets. */
  readonly target: ConnectionTarget;
  /** Arguments of the client's last event in `ackEvents`, for example its join. */
  joinArgs: unknown[] | undefined;
  /** Rooms that the virtual user has joined, as its flow reports them. */
  rooms: string[] | undefined;
  /** Socket.IO's disconnect reason; undefined while the socket is open. */
  endReason: string | undefined;
  #end: OfficialClientEnd | undefined;
  readonly #connection: RunConnection;
  readonly #ended = Promise.withResolvers<{ reason: string; end: OfficialClientEnd | undefined }>();

  constructor(connection: RunConnection, target: ConnectionTarget) {
    this.#connection = connection;
    this.target = target;
  }

  get connected(): boolean {
    return this.endReason === undefined;
  }

  /** Why the socket closed; undefined while it is open, or if the run closed it. */
  get ending(): CloseDescription | undefined {
    if (this.#end) return describeClose(this.#end.found);
    const { endReason } = this;
    if (endReason === undefined || endReason === CLIENT_DISCONNECT_REASON) return undefined;
    return { text: `it ended (${endReason})`, isExplained: false };
  }

  /** Resolves when the socket has closed, for any reason. */
  get ended(): Promise<{ reason: string; end: OfficialClientEnd | undefined }> {
    return this.#ended.promise;
  }

  /**
   * Adds a listener.
   * @returns a function that removes it
   */
  on(event: string, listener: EventListener): () => void {
    const change = this.#connection.listen(this.target.namespace, event, listener);
    change('take');
    return () => change('drop');
  }

  emit(event: string, args: unknown[]): void {
    this.#connection.remote.emit(this.target.namespace, event, args);
  }

  /**
   * Emits an event and waits for the acknowledgement.
   * @throws FleetError `ack_timeout`, or the reason why the connection closed
   */
  ask(event: string, args: unknown[], timeoutMs = NO_TIMEOUT_MS): Promise<unknown[]> {
    return this.#connection.remote.emitWithAck(this.target.namespace, event, args, timeoutMs);
  }

  /** Returns the client's state; undefined if the socket is not open. */
  describe(): Promise<ClientState | undefined> {
    return this.#connection.remote.describe();
  }

  end(reason: string, end?: OfficialClientEnd): void {
    if (this.endReason === undefined) this.#end = end;
    this.endReason ??= reason;
    this.#ended.resolve({ reason, end });
  }

  /** Closes the connection with all of its namespaces. Idempotent. */
  disconnect(): Promise<void> {
    return this.#connection.close();
  }
}

export interface ConnectedClient {
  /**
   * The client's socket in the namespace of its flow. When this socket closes, all connections of the client are
   * closed.
   */
  socket: RunSocket;
  /** Variables that the client's flow set or changed. */
  variables?: Record<string, unknown>;
}
