/** Connections of a virtual user: opened by the first step that needs one, restored if configured, closed at the end. */
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicUs } from '../../protocol/base/clock/clock.ts';
import { type FailureCode, slug } from '../../protocol/codes/failure-codes.ts';
import { retryDelayMs } from '../fleet/backoff.ts';
import type { Emission, OpenOptions } from '../fleet/fleet-messages.ts';
import type { FleetConnection, Return, Watcher } from '../fleet/remote-connection.ts';
import { openOptions } from './connection-changes.ts';
import { FlowError, lossOf, toFlowError } from './flow-error.ts';
import { type AwaitedEvent, isSame, Mailbox, Wait, type WatchedEvent } from './mailbox.ts';
import type { Shared } from './shared.ts';
import { countFailure, keepExample } from './tally.ts';
import type { ScenarioEvents, UserContext } from './user-types.ts';

/** A namespace of the virtual user, and its connection. */
interface NamespaceEntry {
  namespace: string;
  connection: FleetConnection;
  up: boolean;
  /** Rooms of an own event that the virtual user has declared, as JSON. */
  entered: string | undefined;
  /** Set while the fleet process reconnects the namespace; never rejects. */
  restoring: PromiseWithResolvers<void> | undefined;
}

interface Expectation {
  namespace: string;
  event: string;
  timeoutMs: number;
  timeoutCode: () => FailureCode;
  /** Checks an event: false ignores it and continues to wait; an exception ends the wait. */
  accept?: (args: unknown[]) => boolean;
  /** Whether to accept events that a mailbox has kept. */
  fromMailbox?: boolean;
}

export class Session implements Watcher {
  /** Set when a connection is finally lost, or a join refused; the flow ends after the current step. */
  lost: FlowError | undefined;
  /** Called when a connection is finally lost. */
  onLost: () => void = nothing;
  readonly #shared: Shared;
  readonly #context: UserContext;
  readonly #events: ScenarioEvents;
  readonly #watched: readonly WatchedEvent[];
  /** Events that steps of the flow still wait for. */
  #awaited: readonly AwaitedEvent[];
  #namespaces: NamespaceEntry[] = [];
  #mailboxes: Mailbox[] | undefined;
  #wait: Wait | undefined;
  #hasFailed = false;

  /** @param handled events that the flow waits for or watches */
  constructor(
    shared: Shared,
    handled: { awaited: readonly AwaitedEvent[]; watched: readonly WatchedEvent[] },
    context: UserContext,
    events: ScenarioEvents,
  ) {
    this.#shared = shared;
    this.#context = context;
    this.#events = events;
    this.#awaited = handled.awaited;
    this.#watched = handled.watched;
  }

  /** Returns the connection if the namespace is open; the fast path for a step that only sends. */
  ready(namespace: string): FleetConnection | undefined {
    for (const entry of this.#namespaces) if (entry.namespace === namespace && entry.up) return entry.connection;
    return undefined;
  }

  /** Returns the connection with the namespace open; opens it on the virtual user's connection if needed. */
  async use(namespace: string, options?: OpenOptions): Promise<FleetConnection> {
    const entry = this.#namespaces.find((one) => one.namespace === namespace);
    if (!entry) {
      const [first] = this.#namespaces;
      await first?.restoring?.promise;
      return this.#open(namespace, first?.connection ?? this.#newConnection(), options);
    }
    // A restored connection can be lost again at once.
    while (entry.restoring) await entry.restoring.promise;
    if (!entry.up) throw this.lost ?? new FlowError('disconnected');
    return entry.connection;
  }

  /** Sends an event. If the namespace is not open yet, the event travels with the `open` command and is sent afterwards. */
  async send(namespace: string, emit: Emission, overrides: OpenOptions['overrides']): Promise<void> {
    const isKnown = this.#namespaces.some((entry) => entry.namespace === namespace);
    const connection = await this.use(namespace, openOptions(overrides, emit));
    if (isKnown) connection.emit(namespace, emit.event, emit.args);
  }

  /** Opens a new connection for the namespace, and closes the previous one. */
  async connect(namespace: string, options?: OpenOptions): Promise<void> {
    const former = this.#namespaces.find((one) => one.namespace === namespace)?.connection;
    if (former) {
      for (const entry of this.#namespaces) if (entry.connection === former) restored(entry);
      this.#namespaces = this.#namespaces.filter((entry) => entry.connection !== former);
      await former.close();
    }
    await this.#open(namespace, this.#newConnection(), options);
  }

  /** Adds a listener at once; a virtual user has at most one at a time. The caller must `cancel` it at the end. */
  expect(connection: FleetConnection, expectation: Expectation): Wait {
    const { namespace, event, timeoutMs, timeoutCode, accept, fromMailbox } = expectation;
    const wait = new Wait(timeoutMs, timeoutCode);
    const offer = (args: unknown[]) => {
      try {
        if (!accept || accept(args)) wait.done(args);
      } catch (error) {
        wait.fail(toFlowError(error));
      }
    };
    const mailbox = fromMailbox ? this.#mailboxes?.find((box) => isSame(box, expectation)) : undefined;
    this.#wait = wait;
    if (mailbox) {
      wait.onEnd = () => mailbox.stop();
      mailbox.listen(offer);
    } else {
      const listen = connection.listen(namespace, event, offer);
      wait.onEnd = () => listen('drop');
      listen('take');
    }
    return wait;
  }

  /** Adds the virtual user to these rooms of an own event, in each of its namespaces. */
  enter(rooms: string[]): void {
    const entered = JSON.stringify(rooms);
    for (const entry of this.#namespaces.filter((one) => one.up && one.entered !== entered)) {
      entry.entered = entered;
      entry.connection.enter(rooms, entry.namespace);
    }
  }

  /** Releases events that no later step waits for. */
  forget(events: readonly AwaitedEvent[]): void {
    const isForgotten = (one: AwaitedEvent) => events.some((event) => isSame(one, event));
    this.#awaited = this.#awaited.filter((one) => !isForgotten(one));
    for (const mailbox of this.#mailboxes ?? []) if (isForgotten(mailbox)) mailbox.close();
    this.#mailboxes = this.#mailboxes?.filter((mailbox) => !isForgotten(mailbox));
  }

  /** Counts a failure, but only the first one of a virtual user. */
  countFailure(error: FlowError): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    const isLoss = this.#namespaces.some(({ connection }) => connection.isLost);
    countFailure(this.#shared, error, isLoss ? 'losses' : 'failures', this.#context);
  }

  /** Closes all connections, paced by the fleet. The virtual user can connect again. */
  async close(): Promise<void> {
    const connections = new Set(this.#namespaces.map((entry) => entry.connection));
    for (const entry of this.#namespaces) restored(entry);
    this.#namespaces = [];
    this.#mailboxes = undefined;
    await Promise.all([...connections].map((connection) => connection.close()));
  }

  /** Reports of its connections; see `Watcher`. */
  opened(namespace: string, connection: FleetConnection): void {
    for (const entry of this.#entriesOf(connection, namespace)) entry.up = true;
  }

  dropped(reason: string, namespace: string | undefined, returns: boolean, connection: FleetConnection): void {
    this.#shared.meter.count('disconnect', slug(reason));
    for (const entry of this.#entriesOf(connection, namespace)) {
      // Includes a namespace that is reconnecting when its process dies.
      if (!entry.up && !entry.restoring) continue;
      entry.up = false;
      if (returns) entry.restoring ??= Promise.withResolvers();
      else {
        this.#fail(lossOf(reason));
        restored(entry);
      }
    }
  }

  returned({ namespace, lostBy, retries, why }: Return, connection: FleetConnection): void {
    const { meter } = this.#shared;
    if (retries > 0) meter.count('retry', undefined, retries);
    if (lostBy === undefined) meter.count('reconnect');
    for (const entry of this.#entriesOf(connection, namespace).filter(({ restoring }) => restoring)) {
      if (lostBy === undefined) entry.up = true;
      else this.#fail(lossOf(lostBy, why));
      restored(entry);
    }
  }

  refused(error: unknown): void {
    this.#fail(toFlowError(error));
  }

  displaced(count: number): void {
    this.#shared.meter.count('eventsDropped', undefined, count);
  }

  #newConnection(): FleetConnection {
    const connection = this.#shared.fleet.connection();
    connection.watch(this);
    return connection;
  }

  async #open(
    namespace: string,
    connection: FleetConnection,
    options: OpenOptions | undefined,
  ): Promise<FleetConnection> {
    const { meter, tally, config } = this.#shared;
    const { retry } = config;
    const entry: NamespaceEntry = { namespace, connection, up: false, entered: undefined, restoring: undefined };
    // `concat`, because push() would allocate room for 16 more in every virtual user.
    this.#namespaces = this.#namespaces.concat(entry);
    this.#keepAwaited(entry);
    const startedAtUs = monotonicUs();
    for (let attempt = 1; ; attempt++) {
      try {
        const { begunAtUs, openedAtUs } = await connection.open(namespace, options);
        meter.count('connect');
        meter.record('connectTime', (openedAtUs - (attempt === 1 ? begunAtUs : startedAtUs)) / 1000);
        return connection;
      } catch (error) {
        const failure = toFlowError(error);
        if (!retry || attempt > retry.attempts) throw failure;
        keepExample(tally, failure, this.#context);
        await sleep(retryDelayMs(retry, attempt));
        tally.retries++;
        meter.count('retry');
      }
    }
  }

  #keepAwaited({ namespace, connection }: NamespaceEntry): void {
    for (const { receive, ...watched } of this.#watched) {
      if (watched.namespace !== namespace) continue;
      connection.listen(namespace, watched.event, (args) => receive(args, this.#context, this.#events))('each');
    }
    const awaited = this.#awaited.filter((one) => one.namespace === namespace);
    if (awaited.length === 0) return;
    const opened = awaited.map((event) => new Mailbox(event, connection, (count) => this.displaced(count)));
    const others = this.#mailboxes?.filter((one) => one.namespace !== namespace) ?? [];
    this.#mailboxes = [...others, ...opened];
  }

  #entriesOf(connection: FleetConnection, namespace: string | undefined): NamespaceEntry[] {
    return this.#namespaces.filter(
      (entry) => entry.connection === connection && (namespace === undefined || entry.namespace === namespace),
    );
  }

  /** Records the failure at once, because the current step may last as long as the run. */
  #fail(error: FlowError): void {
    if (this.lost) return;
    this.lost = error;
    this.countFailure(error);
    this.#wait?.fail(error);
    this.onLost();
  }
}

function restored(entry: NamespaceEntry): void {
  entry.restoring?.resolve();
  entry.restoring = undefined;
}

function nothing(): void {}
