/**
 * The engine's side of a connection in a fleet process: calls become commands, and reports from the process become
 * events.
 */

import { getOrAdd } from '../../protocol/base/get-or-add.ts';
import { CLIENT_DISCONNECT_REASON } from '../../protocol/wire/connection.ts';
import type { ClientState, RepeatedMessage } from './client/client.ts';
import { FleetError } from './client/failure.ts';
import type { ConnectionAccount, ConnectionAccounts } from './connection-accounts.ts';
import {
  ANY_EVENT,
  type ConnectionReport,
  type FleetCommand,
  type ListenMode,
  type OfficialClientEnd,
  type OpenOptions,
  type ReconnectReport,
} from './fleet-messages.ts';
import type { FleetProcess } from './fleet-process.ts';

export type { ReconnectReport };

/**
 * Called with a received event.
 * @param report name and receive time of the event
 */
export type EventListener = (args: unknown[], report: { event: string; atUs: number }) => void;

/** Times at which the opening of a namespace began and ended, in microseconds of `monotonicUs`. */
export interface OpenTimes {
  begunAtUs: number;
  openedAtUs: number;
}

/** Receives the events of a connection immediately and in order. After `close()`, only `displaced` is called. */
export interface ConnectionWatcher {
  /**
   * Called when a namespace is open, before the promise of `open` resolves. The next report can arrive before the
   * promise resolves.
   */
  opened(namespace: string, connection: FleetConnection): void;
  /**
   * Called when the connection, or one of its namespaces, has ended for any reason except `close()`. `returns` is set
   * if the process will reconnect it.
   */
  dropped(
    reason: string,
    namespace: string | undefined,
    returns: boolean,
    connection: FleetConnection,
    end?: OfficialClientEnd,
  ): void;
  /** Called when a namespace of a dropped connection is open again, or when it is finally lost. */
  returned(outcome: ReconnectReport, connection: FleetConnection): void;
  /** Called when the server refused a join whose acknowledgement no step waits for: cause `join_refused`. */
  refused(error: FleetError): void;
  /** Called with the number of held events that were discarded because newer events arrived. */
  displaced(count: number): void;
}

/** Default watcher, which ignores all events. */
const NOBODY: Partial<ConnectionWatcher> = {};

interface Wanted {
  readonly modes: Map<EventListener, ListenMode>;
  /** Mode for events of this name that was last sent to the fleet process. */
  told: ListenMode;
}

/** Connection of a virtual user. Promises reject with a `FleetError`. No method throws synchronously. */
export type FleetConnection = Omit<RemoteConnection, 'id' | 'child' | 'receive' | 'dropped' | 'describe'>;

export class RemoteConnection {
  readonly id: number;
  readonly child: FleetProcess;
  readonly #accounts: ConnectionAccounts;
  readonly #account: ConnectionAccount = { state: 'idle', cause: '' };
  readonly #forget: () => void;
  #wanted: Map<string, Wanted> | undefined;
  #watcher: Partial<ConnectionWatcher> = NOBODY;
  #closing: Promise<void> | undefined;

  constructor(id: number, child: FleetProcess, accounts: ConnectionAccounts, forget: () => void) {
    this.id = id;
    this.child = child;
    this.#accounts = accounts;
    this.#forget = forget;
  }

  /**
   * Opens the namespace. Opens the transport first if needed. Batching can delay both the command and the answer by
   * some milliseconds. This does not affect the times in the answer, because the fleet process measures them.
   */
  async open(namespace: string, options?: OpenOptions): Promise<OpenTimes> {
    this.#accounts.begin(this.#account);
    const command = (requestId: number) => {
      const open: Extract<FleetCommand, { op: 'open' }> = { op: 'open', id: this.id, requestId, namespace };
      // A key without a value is left out, because the IPC channel would transfer it.
      if (options) open.options = options;
      return open;
    };
    // The opening is recorded before the promise resolves, because the same message can already report the end of the
    // connection.
    const onAnswer = ({ op }: { op: string }) => {
      if (op !== 'opened') return;
      this.#accounts.opened(this.#account);
      this.#told.opened?.(namespace, this);
    };
    try {
      const opened = await this.child.request(command, { canWait: true, onAnswer });
      return opened as OpenTimes & typeof opened;
    } catch (error) {
      this.#accounts.failed(this.#account, (error as FleetError).code);
      throw error;
    }
  }

  /**
   * Whether commands of this connection may wait for a batch. A command that follows a waiting `open` can wait, too.
   */
  get #canWait(): boolean {
    return this.#account.state === 'idle' || this.#account.state === 'pending';
  }

  /** Sends an event without waiting for an acknowledgement. */
  emit(namespace: string, event: string, args: unknown[]): void {
    this.child.send({ op: 'emit', id: this.id, namespace, event, args }, this.#canWait);
  }

  /**
   * Adds the connection to rooms of the server's own event. From now on, it is expected to receive their broadcasts.
   */
  enter(rooms: string[], namespace: string): void {
    this.child.send({ op: 'enter', id: this.id, namespace, rooms });
  }

  /** Sends a repeated message once per period, until the connection is closed. */
  repeat(message: RepeatedMessage): void {
    this.child.repeat(this.id, message);
  }

  /**
   * Sends an event and waits for its acknowledgement.
   * @returns the acknowledgement's arguments
   * @throws FleetError `ack_timeout`, or `closed` if the connection ends
   */
  async emitWithAck(namespace: string, event: string, args: unknown[], timeoutMs: number): Promise<unknown[]> {
    const emit = { op: 'emit' as const, id: this.id, namespace, event, args };
    const timeout = { ms: timeoutMs, cause: 'ack_timeout' as const };
    const options = { canWait: this.#canWait, timeout };
    const answer = await this.child.request((requestId) => ({ ...emit, requestId }), options);
    return answer.op === 'acked' ? answer.args : [];
  }

  /**
   * Returns a function that sets how the listener gets the events of this name. With `hold`, the newest events stay in
   * the fleet process, so a flood of unneeded events does not reach the engine. Events already in transit are still
   * delivered.
   */
  listen(namespace: string, event: string, listener: EventListener): (mode: ListenMode) => void {
    const key = `${namespace} ${event}`;
    this.#wanted ??= new Map();
    const wanted = getOrAdd(this.#wanted, key, (): Wanted => ({ modes: new Map(), told: 'drop' }));
    return (mode) => {
      if (mode === 'drop') wanted.modes.delete(listener);
      else wanted.modes.set(listener, mode);
      const modes = [...wanted.modes.values()];
      const told = (['take', 'each'] as const).find((one) => modes.includes(one)) ?? modes[0] ?? 'drop';
      if (told === wanted.told || this.#closing) return;
      wanted.told = told;
      if (told === 'drop') this.#wanted?.delete(key);
      this.child.send({ op: 'listen', id: this.id, namespace, event, mode: told }, this.#canWait);
    };
  }

  /** Returns the connection's state; undefined if it is neither connecting nor open. */
  describe(): Promise<ClientState | undefined> {
    return this.child.ask('describe', this.id);
  }

  /** Whether the connection was open, and ended for any reason except `close()`. */
  get isLost(): boolean {
    const { state, cause } = this.#account;
    return state === 'ended' && cause !== CLIENT_DISCONNECT_REASON;
  }

  watch(watcher: Partial<ConnectionWatcher>): void {
    this.#watcher = watcher;
  }

  get #told(): Partial<ConnectionWatcher> {
    return this.#closing ? NOBODY : this.#watcher;
  }

  /**
   * Closes the connection with a close packet. Resolves when it is closed. Many closes are spread over time by
   * `disconnectRatePerSec`. Idempotent.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { id } = this;
    const onAnswer = () => this.#accounts.ended(this.#account, CLIENT_DISCONNECT_REASON);
    // If closing fails, the fleet process has died, and the connection with it.
    await this.child
      .request((requestId) => ({ op: 'close', id, requestId }), { canWait: true, onAnswer })
      .catch(() => {});
    this.#forget();
  }

  receive(report: ConnectionReport): void {
    switch (report.op) {
      case 'event':
        for (const name of [report.event, ANY_EVENT]) {
          const { modes } = this.#wanted?.get(`${report.namespace} ${name}`) ?? {};
          for (const listener of modes?.keys() ?? []) listener(report.args, report);
        }
        break;
      case 'displaced':
        this.#watcher.displaced?.(report.count);
        break;
      case 'refused':
        this.#told.refused?.(new FleetError(report.cause, report.message));
        break;
      case 'closed':
        this.dropped(report.reason, report.namespace, report.returns, report.end);
        break;
      case 'returned':
        if (report.lostBy === undefined) this.#accounts.returned(this.#account);
        this.#told.returned?.(report, this);
        break;
    }
  }

  dropped(reason: string, namespace: string | undefined, returns = false, end?: OfficialClientEnd): void {
    if (namespace === undefined) this.#accounts.ended(this.#account, reason);
    this.#told.dropped?.(reason, namespace, returns, this, end);
  }
}
