/** A connection of a fleet process, as seen by the engine: its calls become commands, and it receives the reports. */

import { getOrAdd } from '../../protocol/base/get-or-add.ts';
import { OWN_DISCONNECT } from '../../protocol/wire/connection.ts';
import type { Account, Accounts } from './accounts.ts';
import type { ClientState, RepeatedMessage } from './client/client.ts';
import { FleetError } from './client/failure.ts';
import {
  ANY,
  type ConnectionReport,
  type End,
  type FleetCommand,
  type ListenMode,
  type OpenOptions,
  type Return,
} from './fleet-messages.ts';
import type { FleetProcess } from './fleet-process.ts';

export type { Return };

/** @param report the event's name and receive time */
export type EventListener = (args: unknown[], report: { event: string; atUs: number }) => void;

/** Start and end of opening, in the microseconds of `monotonicUs`. */
export interface Opened {
  begunAtUs: number;
  openedAtUs: number;
}

/** Receives events of a connection at once and in order; after `close()`, only displaced ones. */
export interface Watcher {
  /** Called before the promise of `open` resolves, because the next report can be in the same message. */
  opened(namespace: string, connection: FleetConnection): void;
  /**
   * Called when the connection, or one namespace of it, has ended other than by `close()`; `returns` is set if its process
   * reconnects it.
   */
  dropped(
    reason: string,
    namespace: string | undefined,
    returns: boolean,
    connection: FleetConnection,
    end?: End,
  ): void;
  /** Called when a namespace of a dropped connection is open again, or finally lost. */
  returned(outcome: Return, connection: FleetConnection): void;
  /** Called when the server refused a message that no step waits for: cause `join_refused`. */
  refused(error: FleetError): void;
  /** Called with the number of held events that newer ones displaced. */
  displaced(count: number): void;
}

/** Empty watcher that all connections share. */
const NOBODY: Partial<Watcher> = {};

interface Wanted {
  readonly modes: Map<EventListener, ListenMode>;
  /** Mode that the process has received last. */
  told: ListenMode;
}

/** A virtual user's connection. All promises reject with a `FleetError`; nothing throws synchronously. */
export type FleetConnection = Omit<RemoteConnection, 'id' | 'child' | 'receive' | 'dropped' | 'describe'>;

export class RemoteConnection {
  readonly id: number;
  readonly child: FleetProcess;
  readonly #accounts: Accounts;
  readonly #account: Account = { state: 'idle', cause: '' };
  readonly #forget: () => void;
  #wanted: Map<string, Wanted> | undefined;
  #watcher: Partial<Watcher> = NOBODY;
  #closing: Promise<void> | undefined;

  constructor(id: number, child: FleetProcess, accounts: Accounts, forget: () => void) {
    this.id = id;
    this.child = child;
    this.#accounts = accounts;
    this.#forget = forget;
  }

  /**
   * Opens the transport if needed, then the namespace. Command and answer can each be delayed by some milliseconds, because
   * they share batches; the times in the answer are those of the connection itself.
   */
  async open(namespace: string, options?: OpenOptions): Promise<Opened> {
    this.#accounts.begin(this.#account);
    const command = (requestId: number) => {
      const open: Extract<FleetCommand, { op: 'open' }> = { op: 'open', id: this.id, requestId, namespace };
      // The IPC channel would also serialize a key without a value.
      if (options) open.options = options;
      return open;
    };
    // Counted at once, because the report of its end can be in the same message, before the promise resolves.
    const onAnswer = ({ op }: { op: string }) => {
      if (op !== 'opened') return;
      this.#accounts.opened(this.#account);
      this.#told.opened?.(namespace, this);
    };
    try {
      const opened = await this.child.request(command, { canWait: true, onAnswer });
      return opened as Opened & typeof opened;
    } catch (error) {
      this.#accounts.failed(this.#account, (error as FleetError).code);
      throw error;
    }
  }

  /** Whether commands can wait: as long as the preceding `open` does. */
  get #canWait(): boolean {
    return this.#account.state === 'idle' || this.#account.state === 'pending';
  }

  /** Sends an event without waiting for an acknowledgement. */
  emit(namespace: string, event: string, args: unknown[]): void {
    this.child.send({ op: 'emit', id: this.id, namespace, event, args }, this.#canWait);
  }

  /** Adds the connection to these rooms: from now on it is expected to receive their broadcasts of an own event. */
  enter(rooms: string[], namespace: string): void {
    this.child.send({ op: 'enter', id: this.id, namespace, rooms });
  }

  /** Sends the message once per period from now on, until the connection is closed. */
  repeat(message: RepeatedMessage): void {
    this.child.repeat(this.id, message);
  }

  /** Resolves with the acknowledgement's arguments; rejects with cause `ack_timeout`, or `closed` if the connection ends. */
  async emitWithAck(namespace: string, event: string, args: unknown[], timeoutMs: number): Promise<unknown[]> {
    const emit = { op: 'emit' as const, id: this.id, namespace, event, args };
    const timeout = { ms: timeoutMs, cause: 'ack_timeout' as const };
    const options = { canWait: this.#canWait, timeout };
    const answer = await this.child.request((requestId) => ({ ...emit, requestId }), options);
    return answer.op === 'acked' ? answer.args : [];
  }

  /**
   * Returns a function that sets the mode in which the listener gets the events of this name. With `hold`, the newest events
   * stay in their process, so a flood of unneeded events does not leave it; events in transit are still delivered.
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

  /** Whether the connection was open, and ended other than by `close()`. */
  get isLost(): boolean {
    const { state, cause } = this.#account;
    return state === 'ended' && cause !== OWN_DISCONNECT;
  }

  watch(watcher: Partial<Watcher>): void {
    this.#watcher = watcher;
  }

  get #told(): Partial<Watcher> {
    return this.#closing ? NOBODY : this.#watcher;
  }

  /** Closes the connection with a close packet, paced by `disconnectRatePerSec`. Resolves when it is closed. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { id } = this;
    const onAnswer = () => this.#accounts.ended(this.#account, OWN_DISCONNECT);
    // If the process has died, the connection has died with it.
    await this.child
      .request((requestId) => ({ op: 'close', id, requestId }), { canWait: true, onAnswer })
      .catch(() => {});
    this.#forget();
  }

  receive(report: ConnectionReport): void {
    switch (report.op) {
      case 'event':
        for (const name of [report.event, ANY]) {
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

  dropped(reason: string, namespace: string | undefined, returns = false, end?: End): void {
    if (namespace === undefined) this.#accounts.ended(this.#account, reason);
    this.#told.dropped?.(reason, namespace, returns, this, end);
  }
}
