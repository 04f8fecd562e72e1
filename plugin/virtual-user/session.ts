/**
 * Holds the connections of a virtual user. The first step that needs a connection opens it. Dropped connections
 * reconnect if the script configures it. All connections are closed at the end.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicUs } from '../../protocol/base/clock/clock.ts';
import { type FailureCode, reasonToCode } from '../../protocol/codes/failure-codes.ts';
import { retryDelayMs } from '../fleet/backoff.ts';
import type { EmittedMessage, OpenOptions } from '../fleet/fleet-messages.ts';
import type { ConnectionWatcher, FleetConnection, ReconnectReport } from '../fleet/remote-connection.ts';
import { openOptions } from './connection-changes.ts';
import { connectionLostError, FlowError, toFlowError } from './flow-error.ts';
import { type AwaitedEvent, EventWait, isSameEvent, Mailbox, type WatchedEvent } from './mailbox.ts';
import type { SharedByUsers } from './shared.ts';
import { countFailure, keepErrorExample } from './tally.ts';
import type { ScenarioEvents, UserContext } from './user-types.ts';

/** A namespace that the virtual user has opened, with its connection. */
interface NamespaceEntry {
  namespace: string;
  connection: FleetConnection;
  up: boolean;
  /** Rooms of the server's own event that the virtual user has joined, as JSON. */
  entered: string | undefined;
  /** Set while the fleet process reconnects the namespace. Its promise never rejects. */
  restoring: PromiseWithResolvers<void> | undefined;
}

interface Expectation {
  namespace: string;
  event: string;
  timeoutMs: number;
  timeoutCode: () => FailureCode;
  /**
   * Checks whether a received event ends the wait. If it returns false, the wait continues. If it throws, the wait ends
   * with the error.
   */
  accept?: (args: unknown[]) => boolean;
  /** Whether the wait also accepts events that arrived before it began. */
  fromMailbox?: boolean;
}

export class UserSession implements ConnectionWatcher {
  /**
   * Error that is set when a connection is finally lost or a join was refused. The flow ends after the current step.
   */
  lost: FlowError | undefined;
  /** Called when a connection is finally lost. */
  onLost: () => void = nothing;
  readonly #shared: SharedByUsers;
  readonly #context: UserContext;
  readonly #events: ScenarioEvents;
  readonly #watched: readonly WatchedEvent[];
  /** Events for which a later step of the flow waits. */
  #awaited: readonly AwaitedEvent[];
  #namespaces: NamespaceEntry[] = [];
  #mailboxes: Mailbox[] | undefined;
  #wait: EventWait | undefined;
  #hasFailed = false;

  /**
   * Creates a session without connections.
   * @param handled events that the flow waits for or passes to functions
   */
  constructor(
    shared: SharedByUsers,
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

  /**
   * Returns the connection whose namespace is open; undefined if the namespace is not open. Synchronous, for steps that
   * only send.
   */
  ready(namespace: string): FleetConnection | undefined {
    for (const entry of this.#namespaces) if (entry.namespace === namespace && entry.up) return entry.connection;
    return undefined;
  }

  /**
   * Returns the connection of the namespace. Opens the namespace first if needed, on the virtual user's existing
   * connection.
   */
  async use(namespace: string, options?: OpenOptions): Promise<FleetConnection> {
    const entry = this.#namespaces.find((one) => one.namespace === namespace);
    if (!entry) {
      const [first] = this.#namespaces;
      await first?.restoring?.promise;
      return this.#open(namespace, first?.connection ?? this.#newConnection(), options);
    }
    // The connection can be lost again immediately after it was restored.
    while (entry.restoring) await entry.restoring.promise;
    if (!entry.up) throw this.lost ?? new FlowError('disconnected');
    return entry.connection;
  }

  /**
   * Sends an event. If the namespace is not open, the `open` command contains the event, which is sent when the
   * namespace is open.
   */
  async send(namespace: string, emit: EmittedMessage, overrides: OpenOptions['overrides']): Promise<void> {
    const isKnown = this.#namespaces.some((entry) => entry.namespace === namespace);
    const connection = await this.use(namespace, openOptions(overrides, emit));
    if (isKnown) connection.emit(namespace, emit.event, emit.args);
  }

  /** Opens a new connection for the namespace. Closes the namespace's previous connection. */
  async connect(namespace: string, options?: OpenOptions): Promise<void> {
    const former = this.#namespaces.find((one) => one.namespace === namespace)?.connection;
    if (former) {
      for (const entry of this.#namespaces) if (entry.connection === former) restored(entry);
      this.#namespaces = this.#namespaces.filter((entry) => entry.connection !== former);
      await former.close();
    }
    await this.#open(namespace, this.#newConnection(), options);
  }

  /**
   * Starts to listen for an event at once, and waits for it. A virtual user has at most one wait at a time. At the end
   * of a wait, the caller must call `cancel`.
   */
  expect(connection: FleetConnection, expectation: Expectation): EventWait {
    const { namespace, event, timeoutMs, timeoutCode, accept, fromMailbox } = expectation;
    const wait = new EventWait(timeoutMs, timeoutCode);
    const offer = (args: unknown[]) => {
      try {
        if (!accept || accept(args)) wait.done(args);
      } catch (error) {
        wait.fail(toFlowError(error));
      }
    };
    const mailbox = fromMailbox ? this.#mailboxes?.find((box) => isSameEvent(box, expectation)) : undefined;
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

  /** Adds the virtual user to rooms of the server's own event, in each of its namespaces. */
  enter(rooms: string[]): void {
    const entered = JSON.stringify(rooms);
    for (const entry of this.#namespaces.filter((one) => one.up && one.entered !== entered)) {
      entry.entered = entered;
      entry.connection.enter(rooms, entry.namespace);
    }
  }

  /** Stops keeping events for which no later step waits. */
  forget(events: readonly AwaitedEvent[]): void {
    const isForgotten = (one: AwaitedEvent) => events.some((event) => isSameEvent(one, event));
    this.#awaited = this.#awaited.filter((one) => !isForgotten(one));
    for (const mailbox of this.#mailboxes ?? []) if (isForgotten(mailbox)) mailbox.close();
    this.#mailboxes = this.#mailboxes?.filter((mailbox) => !isForgotten(mailbox));
  }

  /** Counts a failure of the virtual user. Only its first failure is counted. */
  countFailure(error: FlowError): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    const isLoss = this.#namespaces.some(({ connection }) => connection.isLost);
    countFailure(this.#shared, error, isLoss ? 'losses' : 'failures', this.#context);
  }

  /** Closes all connections; the fleet spreads many closes over time. The virtual user can connect again afterwards. */
  async close(): Promise<void> {
    const connections = new Set(this.#namespaces.map((entry) => entry.connection));
    for (const entry of this.#namespaces) restored(entry);
    this.#namespaces = [];
    this.#mailboxes = undefined;
    await Promise.all([...connections].map((connection) => connection.close()));
  }

  /** Reports of the virtual user's connections. They implement `ConnectionWatcher`. */
  opened(namespace: string, connection: FleetConnection): void {
    for (const entry of this.#entriesOf(connection, namespace)) entry.up = true;
  }

  dropped(reason: string, namespace: string | undefined, returns: boolean, connection: FleetConnection): void {
    this.#shared.meter.count('disconnect', reasonToCode(reason));
    for (const entry of this.#entriesOf(connection, namespace)) {
      // A namespace that is reconnecting can be lost, too, if its fleet process dies.
      if (!entry.up && !entry.restoring) continue;
      entry.up = false;
      if (returns) entry.restoring ??= Promise.withResolvers();
      else {
        this.#fail(connectionLostError(reason));
        restored(entry);
      }
    }
  }

  returned({ namespace, lostBy, retries, why }: ReconnectReport, connection: FleetConnection): void {
    const { meter } = this.#shared;
    if (retries > 0) meter.count('retry', undefined, retries);
    if (lostBy === undefined) meter.count('reconnect');
    for (const entry of this.#entriesOf(connection, namespace).filter(({ restoring }) => restoring)) {
      if (lostBy === undefined) entry.up = true;
      else this.#fail(connectionLostError(lostBy, why));
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
    // `push` would make V8 allocate room for 16 entries in every virtual user.
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
        keepErrorExample(tally, failure, this.#context);
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

  /** Records a failure of the virtual user immediately, because the current step may last until the end of the run. */
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
