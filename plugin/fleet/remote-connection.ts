/** A connection that a fleet process holds, as the engine sees it: its calls become commands, its reports arrive here. */
import type { Account, Accounts } from './accounts.ts';
import type { RepeatedMessage } from './client/repeated-message.ts';
import { FleetError } from './fleet-error.ts';
import type { FleetProcess, RequestLimits } from './fleet-process.ts';
import type { FleetAnswer, FleetCommand, OpenOptions } from './messages.ts';
import { Takers } from './takers.ts';

/** In the microseconds of `monotonicUs`. */
export interface Opened {
  begunAtUs: number;
  openedAtUs: number;
}

/** One virtual user's connection. All promises reject with a `FleetError`; nothing throws synchronously. */
export interface FleetConnection {
  /**
   * Opens the transport if needed, then the namespace. The command and its answer can each travel some milliseconds
   * late, in a batch with others; the times in the answer are those of the connection itself.
   * @param afterMs delays the opening of a connection that is one of many; ignored if it is open already
   */
  open(namespace: string, options?: OpenOptions, afterMs?: number): Promise<Opened>;
  /** Fire and forget. */
  emit(namespace: string, event: string, args: unknown[]): void;
  /** Resolves with the acknowledgement's arguments; rejects with cause `ack_timeout` or the reason of the disconnect. */
  emitWithAck(namespace: string, event: string, args: unknown[], timeoutMs: number): Promise<unknown[]>;
  /** Sends the message from now on, once in each period, until it is closed. */
  repeat(message: RepeatedMessage): void;
  /** Calls the listener for every event of this name, until the returned function is called. */
  on(namespace: string, event: string, listener: (args: unknown[]) => void): () => void;
  /**
   * Keeps the newest events of this name in their process until somebody takes them, so that a flood of events that
   * nobody waits for yet stays there.
   */
  keep(namespace: string, event: string, keeper: Keeper): Kept;
  /**
   * Calls the listener each time the connection, or one namespace of it, ends other than by `close()`; `returns` if its
   * process brings it back.
   */
  onDrop(listener: DropListener): void;
  /** Calls the listener when a namespace of a connection that had dropped is back, or is lost for good. */
  onReturn(listener: ReturnListener): void;
  /** Calls the listener when the server refuses what was sent without waiting for an answer: cause `join_refused`. */
  onRefused(listener: (error: FleetError) => void): void;
  /** Closes it politely, paced by `disconnectRatePerSec`. Resolves when it is closed. Idempotent. */
  close(): Promise<void>;
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
type DropListener = (reason: string, namespace: string | undefined, returns: boolean) => void;
type ReturnListener = (outcome: Return) => void;

export interface Return {
  /** Undefined if all are lost. */
  namespace: string | undefined;
  /** The reason of the drop, if it stays away. */
  lostBy: string | undefined;
  /** Attempts after the first one. */
  retries: number;
}

export class RemoteConnection implements FleetConnection {
  readonly id: number;
  readonly child: FleetProcess;
  readonly #accounts: Accounts;
  readonly #account: Account = { state: 'idle', cause: '' };
  readonly #forget: () => void;
  #listeners: Map<string, Set<Listener>> | undefined;
  #takers: Takers | undefined;
  /** Counts what was displaced, whichever event it was. */
  #keeper: Pick<Keeper, 'displaced'> | undefined;
  /** Commands before that can wait, since the `open` before them waits as well. */
  #isOpen = false;
  #dropListener: DropListener | undefined;
  #returnListener: ReturnListener | undefined;
  #refusalListener: ((error: FleetError) => void) | undefined;
  #closing: Promise<void> | undefined;

  constructor(id: number, child: FleetProcess, accounts: Accounts, forget: () => void) {
    this.id = id;
    this.child = child;
    this.#accounts = accounts;
    this.#forget = forget;
  }

  async open(namespace: string, options?: OpenOptions, afterMs?: number): Promise<Opened> {
    this.#accounts.begin(this.#account);
    try {
      return await this.#open(namespace, options, afterMs);
    } catch (error) {
      this.#accounts.failed(this.#account, (error as FleetError).code);
      throw error;
    }
  }

  async #open(namespace: string, options?: OpenOptions, afterMs?: number): Promise<Opened> {
    const interest = this.#interest();
    const command = (requestId: number) => {
      const open: Extract<FleetCommand, { op: 'open' }> = { op: 'open', id: this.id, requestId, namespace };
      // The IPC channel would serialize a key without a value as well.
      if (options) open.options = options;
      if (interest) open.interest = interest;
      // A reconnect still has them, and a namespace that is opened later has commands of its own.
      const keep = this.#takers?.untaken();
      if (keep) open.keep = keep;
      if (afterMs) open.afterMs = afterMs;
      return open;
    };
    // Counted at once: the report that it has ended can be in the same message, before the promise resolves.
    const answer = await this.child.request(command, true, undefined, ({ op }) => {
      if (op === 'opened') this.#accounts.opened(this.#account);
    });
    if (answer.op !== 'opened') throw failureOf(answer);
    this.#isOpen = true;
    return answer;
  }

  emit(namespace: string, event: string, args: unknown[]): void {
    this.child.send({ op: 'emit', id: this.id, namespace, event, args }, !this.#isOpen);
  }

  repeat(message: RepeatedMessage): void {
    this.child.repeat(this.id, message, true);
  }

  async emitWithAck(namespace: string, event: string, args: unknown[], timeoutMs: number): Promise<unknown[]> {
    const { id } = this;
    const limits: RequestLimits = { connectionId: id, timeoutMs, timeoutCause: 'ack_timeout' };
    const emit = { op: 'emit' as const, id, namespace, event, args };
    const answer = await this.child.request((requestId) => ({ ...emit, requestId }), !this.#isOpen, limits);
    if (answer.op === 'acked') return answer.args;
    throw failureOf(answer);
  }

  on(namespace: string, event: string, listener: Listener): () => void {
    const remove = this.#listen(namespace, event, listener);
    if (!this.#takers?.has([namespace, event])) return remove;
    this.#take(namespace, event, 1);
    return () => {
      remove();
      this.#take(namespace, event, -1);
    };
  }

  keep(namespace: string, event: string, keeper: Keeper): Kept {
    this.#takers ??= new Takers();
    this.#takers.add([namespace, event]);
    this.#keeper = keeper;
    const remove = this.#listen(namespace, event, (args) => keeper.put(args));
    if (this.#isOpen) this.#send(namespace, event, 'hold');
    return {
      take: () => this.#take(namespace, event, 1),
      hold: () => this.#take(namespace, event, -1),
      close: () => {
        if (!this.#takers?.delete([namespace, event])) return;
        this.#send(namespace, event, 'drop');
        remove();
      },
    };
  }

  #take(namespace: string, event: string, by: 1 | -1): void {
    const mode = this.#takers?.change([namespace, event], by);
    if (mode) this.#send(namespace, event, mode);
  }

  #send(namespace: string, event: string, mode: 'hold' | 'take' | 'drop'): void {
    this.child.send({ op: 'keep', id: this.id, namespace, event, mode }, !this.#isOpen);
  }

  #listen(namespace: string, event: string, listener: Listener): () => void {
    const key = `${namespace} ${event}`;
    this.#listeners ??= new Map();
    let listeners = this.#listeners.get(key);
    if (!listeners) {
      listeners = new Set();
      this.#listeners.set(key, listeners);
      this.child.send({ op: 'interest', id: this.id, event, wanted: true }, !this.#isOpen);
    }
    listeners.add(listener);
    return () => {
      if (!listeners.delete(listener) || listeners.size > 0) return;
      this.#listeners?.delete(key);
      this.child.send({ op: 'interest', id: this.id, event, wanted: this.#wants(event) });
    };
  }

  onDrop(listener: DropListener): void {
    this.#dropListener = listener;
  }

  onReturn(listener: ReturnListener): void {
    this.#returnListener = listener;
  }

  onRefused(listener: (error: FleetError) => void): void {
    this.#refusalListener = listener;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#dropListener = undefined;
    this.#returnListener = undefined;
    this.#refusalListener = undefined;
    this.child.rejectOf(this.id, new FleetError('closed', 'closed by the virtual user'));
    const { id } = this;
    try {
      await this.child.request(
        (requestId) => ({ op: 'close', id, requestId }),
        true,
        undefined,
        () => this.#accounts.ended(this.#account, 'io client disconnect'),
      );
    } catch {
      // the process has died, and the connection with it
    }
    this.#forget();
  }

  deliver(namespace: string, event: string, args: unknown[]): void {
    for (const listener of this.#listeners?.get(`${namespace} ${event}`) ?? []) listener(args);
  }

  handOver({ namespace, event, events, displaced }: Extract<FleetAnswer, { op: 'kept' }>): void {
    for (const args of events) this.deliver(namespace, event, args);
    this.displaced(displaced);
  }

  displaced(count: number): void {
    this.#keeper?.displaced(count);
  }

  dropped(reason: string, namespace: string | undefined, returns = false): void {
    if (namespace === undefined) {
      this.#accounts.ended(this.#account, reason);
      this.child.rejectOf(this.id, new FleetError('closed', reason));
    }
    this.#dropListener?.(reason, namespace, returns);
  }

  returned(namespace: string, retries: number): void {
    this.#accounts.returned(this.#account);
    this.#returnListener?.({ namespace, lostBy: undefined, retries });
  }

  lost(namespace: string | undefined, reason: string, retries: number): void {
    this.#returnListener?.({ namespace, lostBy: reason, retries });
  }

  refused(error: FleetError): void {
    this.#refusalListener?.(error);
  }

  #wants(event: string): boolean {
    for (const key of this.#listeners?.keys() ?? []) if (key.endsWith(` ${event}`)) return true;
    return false;
  }

  /** Names of all events with listeners: a reconnect has a new client, which needs them again. */
  #interest(): string[] | undefined {
    return this.#listeners && [...this.#listeners.keys()].map((key) => key.slice(key.indexOf(' ') + 1));
  }
}

function failureOf(answer: FleetAnswer): FleetError {
  if (answer.op === 'failed') return new FleetError(answer.cause, answer.message, answer.data, answer.retryAfterMs);
  return new FleetError('fleet_protocol', `unexpected answer ${answer.op}`);
}
