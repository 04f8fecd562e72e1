/** A connection that a fleet process holds, as the engine sees it: its calls become commands, its reports arrive here. */
import { OWN_DISCONNECT } from '../../protocol/connection.ts';
import type { Account, Accounts } from './accounts.ts';
import type { RepeatedMessage } from './client/repeated-message.ts';
import { FleetError } from './fleet-error.ts';
import type { FleetProcess } from './fleet-process.ts';
import type { ConnectionReport, FleetCommand, ListenMode, OpenOptions, Return } from './messages.ts';

export type { Return };

/** In the microseconds of `monotonicUs`. */
export interface Opened {
  begunAtUs: number;
  openedAtUs: number;
}

/** Gets kept events, oldest first. */
export interface Keeper {
  put(args: unknown[]): void;
  /** So many events were displaced by newer ones. */
  displaced(count: number): void;
}

export interface Kept {
  /** Hands over what was kept, and then every event as it comes. */
  take(): void;
  /** Keeps events again, except those on their way. */
  hold(): void;
  /** Forgets them. */
  close(): void;
}

type Listener = (args: unknown[]) => void;

/** Learns at once what happens to a connection, in the order in which it happens; nothing after `close()`. */
export interface Watcher {
  /** Before the promise of `open` is resolved: the next report can be in the same message. */
  opened(namespace: string, connection: FleetConnection): void;
  /** The connection, or one namespace of it, has ended other than by `close()`; `returns` if its process brings it back. */
  dropped(reason: string, namespace: string | undefined, returns: boolean, connection: FleetConnection): void;
  /** A namespace of a connection that had dropped is back, or is lost for good. */
  returned(outcome: Return, connection: FleetConnection): void;
  /** The server refuses what was sent without waiting for an answer: cause `join_refused`. */
  refused(error: FleetError): void;
}

/** Shared by all connections. */
const NOBODY: Partial<Watcher> = {};

/** Who wants an event. */
interface Wanted {
  readonly namespace: string;
  readonly event: string;
  readonly listeners: Set<Listener>;
  isKept: boolean;
  /** How many want each event as it comes. */
  takers: number;
  /** What the process has been told. */
  mode: ListenMode;
}

/** One virtual user's connection. All promises reject with a `FleetError`; nothing throws synchronously. */
export type FleetConnection = Omit<RemoteConnection, 'id' | 'child' | 'receive' | 'dropped'>;

export class RemoteConnection {
  readonly id: number;
  readonly child: FleetProcess;
  readonly #accounts: Accounts;
  readonly #account: Account = { state: 'idle', cause: '', sinceMs: 0 };
  readonly #forget: () => void;
  #wanted: Map<string, Wanted> | undefined;
  /** Counts what was displaced, whichever event it was. */
  #keeper: Pick<Keeper, 'displaced'> | undefined;
  /** Commands before that can wait, since the `open` before them waits as well. */
  #isOpen = false;
  #watcher: Partial<Watcher> = NOBODY;
  #closing: Promise<void> | undefined;

  constructor(id: number, child: FleetProcess, accounts: Accounts, forget: () => void) {
    this.id = id;
    this.child = child;
    this.#accounts = accounts;
    this.#forget = forget;
  }

  /**
   * Opens the transport if needed, then the namespace. The command and its answer can each travel some milliseconds
   * late, in a batch with others; the times in the answer are those of the connection itself.
   */
  async open(namespace: string, options?: OpenOptions): Promise<Opened> {
    this.#accounts.begin(this.#account);
    const command = (requestId: number) => {
      const open: Extract<FleetCommand, { op: 'open' }> = { op: 'open', id: this.id, requestId, namespace };
      // The IPC channel would serialize a key without a value as well.
      if (options) open.options = options;
      return open;
    };
    // Counted at once: the report that it has ended can be in the same message, before the promise resolves.
    const onAnswer = ({ op }: { op: string }) => {
      if (op !== 'opened') return;
      this.#accounts.opened(this.#account);
      this.#watcher.opened?.(namespace, this);
    };
    try {
      const opened = await this.child.request(command, { canWait: true, onAnswer });
      this.#isOpen = true;
      return opened as Opened & typeof opened;
    } catch (error) {
      this.#accounts.failed(this.#account, (error as FleetError).code);
      throw error;
    }
  }

  /** Fire and forget. */
  emit(namespace: string, event: string, args: unknown[]): void {
    this.child.send({ op: 'emit', id: this.id, namespace, event, args }, !this.#isOpen);
  }

  /** From now on it is expected to get what an own event brings to these rooms. */
  enter(rooms: string[], namespace: string): void {
    this.child.send({ op: 'enter', id: this.id, namespace, rooms });
  }

  /** Sends the message from now on, once in each period, until it is closed. */
  repeat(message: RepeatedMessage): void {
    this.child.repeat(this.id, message);
  }

  /** Resolves with the acknowledgement's arguments; rejects with cause `ack_timeout`, or `closed` by the end of the connection. */
  async emitWithAck(namespace: string, event: string, args: unknown[], timeoutMs: number): Promise<unknown[]> {
    const emit = { op: 'emit' as const, id: this.id, namespace, event, args };
    const timeout = { ms: timeoutMs, cause: 'ack_timeout' as const };
    const options = { canWait: !this.#isOpen, timeout };
    const answer = await this.child.request((requestId) => ({ ...emit, requestId }), options);
    return answer.op === 'acked' ? answer.args : [];
  }

  /** Calls the listener for every event of this name, until the returned function is called. */
  on(namespace: string, event: string, listener: Listener): () => void {
    const wanted = this.#want(namespace, event);
    wanted.listeners.add(listener);
    this.#take(wanted, 1);
    return () => {
      if (wanted.listeners.delete(listener)) this.#take(wanted, -1);
    };
  }

  /**
   * Keeps the newest events of this name in their process until somebody takes them, so that a flood of events that
   * nobody waits for yet stays there.
   */
  keep(namespace: string, event: string, keeper: Keeper): Kept {
    const wanted = this.#want(namespace, event);
    const put = (args: unknown[]) => keeper.put(args);
    this.#keeper = keeper;
    wanted.listeners.add(put);
    wanted.isKept = true;
    this.#take(wanted, 0);
    return {
      take: () => this.#take(wanted, 1),
      hold: () => this.#take(wanted, -1),
      close: () => {
        wanted.listeners.delete(put);
        wanted.isKept = false;
        this.#take(wanted, 0);
      },
    };
  }

  #want(namespace: string, event: string): Wanted {
    const key = `${namespace} ${event}`;
    this.#wanted ??= new Map();
    let wanted = this.#wanted.get(key);
    if (!wanted) {
      wanted = { namespace, event, listeners: new Set(), isKept: false, takers: 0, mode: 'drop' };
      this.#wanted.set(key, wanted);
    }
    return wanted;
  }

  #take(wanted: Wanted, change: number): void {
    const { namespace, event, isKept } = wanted;
    wanted.takers += change;
    const mode = wanted.takers > 0 ? 'take' : isKept ? 'hold' : 'drop';
    if (mode === wanted.mode || this.#closing) return;
    wanted.mode = mode;
    if (mode === 'drop') this.#wanted?.delete(`${namespace} ${event}`);
    this.child.send({ op: 'listen', id: this.id, namespace, event, mode }, !this.#isOpen);
  }

  watch(watcher: Partial<Watcher>): void {
    this.#watcher = watcher;
  }

  /** Closes it politely, paced by `disconnectRatePerSec`. Resolves when it is closed. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#watcher = NOBODY;
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
        for (const listener of this.#wanted?.get(`${report.namespace} ${report.event}`)?.listeners ?? []) {
          listener(report.args);
        }
        break;
      case 'displaced':
        this.#keeper?.displaced(report.count);
        break;
      case 'refused':
        this.#watcher.refused?.(new FleetError(report.cause, report.message));
        break;
      case 'closed':
        this.dropped(report.reason, report.namespace, report.returns);
        break;
      case 'returned':
        if (report.lostBy === undefined) this.#accounts.returned(this.#account);
        this.#watcher.returned?.(report, this);
        break;
    }
  }

  dropped(reason: string, namespace: string | undefined, returns = false): void {
    if (namespace === undefined) this.#accounts.ended(this.#account, reason);
    this.#watcher.dropped?.(reason, namespace, returns, this);
  }
}
