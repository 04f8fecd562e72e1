/** One virtual user's connections: opened by the first step that needs one, restored if configured, closed at the end. */
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicUs } from '../../protocol/clock.ts';
import type { FailureCode } from '../../protocol/codes/failure-codes.ts';
import type { Emission, OpenOptions } from '../fleet/messages.ts';
import type { FleetConnection } from '../fleet/remote-connection.ts';
import { retryDelayMs } from './backoff.ts';
import { openOptions } from './connection-changes.ts';
import { ConnectionGroup } from './connection-group.ts';
import type { EngineContext } from './engine-context.ts';
import { FlowError, slug, toFlowError } from './flow-error.ts';
import { type AwaitedEvent, isSame, Mailbox } from './mailbox.ts';
import { countFailure, keepExample } from './tally.ts';
import { Wait } from './wait.ts';

/** One namespace of the virtual user, and the connection that carries it. */
interface NamespaceEntry {
  namespace: string;
  connection: FleetConnection;
  overrides: OpenOptions['overrides'];
  up: boolean;
  /** Why it ended before its opening was handled: both can be reported in the same message. */
  endedEarlyBy: string | undefined;
  /** While it is being restored; never rejects. */
  restoring: Promise<void> | undefined;
}

interface Expectation {
  namespace: string;
  event: string;
  timeoutMs: number;
  timeoutCode: () => FailureCode;
  /** False ignores the event and continues to wait; an exception ends the wait. */
  accept?: (args: unknown[]) => boolean;
  /** Accept events that a mailbox has kept. */
  fromMailbox?: boolean;
}

export class Session {
  /** Set when a connection is lost for good, or a join refused: the current step is then the last one. */
  dropped: FlowError | undefined;
  /** Called when a connection is lost for good. */
  onLost: () => void = nothing;
  /** Set if the virtual user holds more than one connection. */
  group: ConnectionGroup | undefined;
  readonly #engine: EngineContext;
  /** What the rest of the flow waits for. */
  #awaited: readonly AwaitedEvent[];
  #namespaces: NamespaceEntry[] = [];
  #mailboxes: Mailbox[] | undefined;
  #wait: Wait | undefined;
  #hasFailed = false;

  constructor(engine: EngineContext, awaited: readonly AwaitedEvent[]) {
    this.#engine = engine;
    this.#awaited = awaited;
  }

  /** @returns the connection if the namespace is up: the fast path for a step that only sends */
  ready(namespace: string): FleetConnection | undefined {
    for (const entry of this.#namespaces) if (entry.namespace === namespace && entry.up) return entry.connection;
    return undefined;
  }

  /** @returns the connection with the namespace up; opens it on the virtual user's connection if needed */
  async use(namespace: string, options?: OpenOptions): Promise<FleetConnection> {
    const entry = this.#namespaces.find((one) => one.namespace === namespace);
    if (!entry) {
      const [first] = this.#namespaces;
      await first?.restoring;
      return this.#open(namespace, first?.connection ?? this.#newConnection(), options);
    }
    // A restored connection can be lost again at once.
    for (let restoring: Promise<void> | undefined; entry.restoring !== restoring; ) {
      restoring = entry.restoring;
      await restoring;
    }
    if (!entry.up) throw this.dropped ?? new FlowError('disconnected');
    return entry.connection;
  }

  /** If the namespace is not up yet, the event goes with the `open` command and is sent then. */
  async send(namespace: string, emit: Emission, overrides: OpenOptions['overrides']): Promise<void> {
    const isKnown = this.#namespaces.some((entry) => entry.namespace === namespace);
    const connection = await this.use(namespace, openOptions(overrides, emit));
    if (isKnown) connection.emit(namespace, emit.event, emit.args);
  }

  /** Opens a new connection for the namespace, and closes the one that carried it before. */
  async connect(namespace: string, options?: OpenOptions): Promise<void> {
    const former = this.#namespaces.find((one) => one.namespace === namespace)?.connection;
    if (former) {
      this.#namespaces = this.#namespaces.filter((entry) => entry.connection !== former);
      await former.close();
    }
    await this.#open(namespace, this.#newConnection(), options);
  }

  /**
   * Opens `count` connections at `ratePerSec`. Responses and `waitFor` apply to the first one, which must open.
   * @returns how many are open
   */
  async connectMany(
    namespace: string,
    options: OpenOptions | undefined,
    { count, ratePerSec }: { count: number; ratePerSec: number },
  ): Promise<number> {
    await this.group?.close();
    await this.connect(namespace, options);
    this.group = new ConnectionGroup(this.#engine, ratePerSec);
    return 1 + (await this.group.open(count - 1, namespace, options));
  }

  /** Adds a listener at once, at most one per virtual user at a time. The caller must `cancel` it at the end. */
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
    const mailbox = fromMailbox && this.#mailboxes?.find((box) => box.namespace === namespace && box.event === event);
    wait.onEnd = mailbox ? mailbox.listen(offer) : connection.on(namespace, event, offer);
    this.#wait = wait;
    return wait;
  }

  /** The flow will not wait for these events again. */
  forget(events: readonly AwaitedEvent[]): void {
    const isForgotten = (one: AwaitedEvent) => events.some((event) => isSame(one, event));
    this.#awaited = this.#awaited.filter((one) => !isForgotten(one));
    for (const mailbox of this.#mailboxes ?? []) if (isForgotten(mailbox)) mailbox.close();
    this.#mailboxes = this.#mailboxes?.filter((mailbox) => !isForgotten(mailbox));
  }

  /** Counts only the first failure of a virtual user. */
  countFailure(error: FlowError): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    const { tally, meter } = this.#engine;
    tally.failed++;
    countFailure(tally, error);
    meter.error(error.code);
  }

  /** Closes all connections; the fleet paces it. The virtual user can connect again. */
  async close(): Promise<void> {
    const connections = new Set(this.#namespaces.map((entry) => entry.connection));
    this.#namespaces = [];
    this.#mailboxes = undefined;
    await Promise.all([this.group?.close(), ...[...connections].map((connection) => connection.close())]);
    this.group = undefined;
  }

  #newConnection(): FleetConnection {
    const connection = this.#engine.fleet.connection();
    connection.onDrop((reason, namespace) => this.#drop(connection, reason, namespace));
    connection.onRefused((error) => this.#fail(toFlowError(error)));
    return connection;
  }

  async #open(
    namespace: string,
    connection: FleetConnection,
    options: OpenOptions | undefined,
  ): Promise<FleetConnection> {
    const { meter, config, tally } = this.#engine;
    const entry: NamespaceEntry = {
      namespace,
      connection,
      overrides: options?.overrides,
      up: false,
      endedEarlyBy: undefined,
      restoring: undefined,
    };
    // push() would allocate room for 16 more, in every virtual user.
    this.#namespaces = this.#namespaces.concat(entry);
    this.#keepAwaited(entry);
    const startedAtUs = monotonicUs();
    let tookUs = 0;
    for (let attempt = 1; !entry.up; attempt++) {
      try {
        entry.endedEarlyBy = undefined;
        const { begunAtUs, openedAtUs } = await connection.open(namespace, options);
        tookUs = openedAtUs - (attempt === 1 ? begunAtUs : startedAtUs);
        entry.up = true;
      } catch (error) {
        const failure = toFlowError(error);
        const delayMs = config.retry && attempt <= config.retry.attempts && retryDelayMs(config.retry, attempt, error);
        if (typeof delayMs !== 'number') throw failure;
        keepExample(tally, failure);
        await sleep(delayMs);
        tally.retries++;
        meter.count('retry');
      }
    }
    meter.count('connect');
    meter.record('connectTime', tookUs / 1000);
    this.#endIfEnded(entry);
    return connection;
  }

  #keepAwaited({ namespace, connection }: NamespaceEntry): void {
    const awaited = this.#awaited.filter((one) => one.namespace === namespace);
    if (awaited.length === 0) return;
    const onDisplaced = (count: number) => this.#engine.meter.count('eventsDropped', undefined, count);
    const opened = awaited.map((event) => new Mailbox(event, connection, onDisplaced));
    const others = this.#mailboxes?.filter((one) => one.namespace !== namespace) ?? [];
    this.#mailboxes = [...others, ...opened];
  }

  #drop(connection: FleetConnection, reason: string, namespace: string | undefined): void {
    this.#engine.meter.count('disconnect', slug(reason));
    for (const entry of this.#namespaces) {
      if (entry.connection !== connection) continue;
      if (namespace !== undefined && entry.namespace !== namespace) continue;
      if (entry.up) this.#end(entry, reason);
      else entry.endedEarlyBy = reason;
    }
  }

  #endIfEnded(entry: NamespaceEntry): void {
    if (entry.endedEarlyBy !== undefined) this.#end(entry, entry.endedEarlyBy);
  }

  #end(entry: NamespaceEntry, reason: string): void {
    entry.up = false;
    entry.endedEarlyBy = undefined;
    // As in socket.io-client: a connection that the server itself ended does not come back.
    if (this.#engine.config.reconnection && reason !== 'io server disconnect') {
      entry.restoring = this.#restore(entry, reason);
    } else this.#lose(reason);
  }

  async #restore(entry: NamespaceEntry, reason: string): Promise<void> {
    const { meter, config, tally } = this.#engine;
    let refusal: unknown;
    for (let attempt = 1; config.reconnection && attempt <= config.reconnection.attempts; attempt++) {
      const delayMs = retryDelayMs(config.reconnection, attempt, refusal);
      if (delayMs === undefined) break;
      await sleep(delayMs, undefined, { ref: false });
      if (!this.#namespaces.includes(entry)) return;
      try {
        if (attempt > 1) {
          tally.retries++;
          meter.count('retry');
        }
        entry.endedEarlyBy = undefined;
        await entry.connection.open(entry.namespace, { overrides: entry.overrides });
        entry.up = true;
        tally.reconnects++;
        meter.count('reconnect');
        this.#endIfEnded(entry);
        return;
      } catch (error) {
        refusal = error; // the fleet counts failed attempts by cause
      }
    }
    // The flow can have replaced the connection meanwhile.
    if (this.#namespaces.includes(entry)) this.#lose(reason);
  }

  #lose(reason: string): void {
    this.#fail(new FlowError(`disconnected_${slug(reason)}`, `the connection was lost: ${reason}`));
  }

  /** Counted at once: the step that runs now may last as long as the run. */
  #fail(error: FlowError): void {
    if (this.dropped) return;
    this.dropped = error;
    this.countFailure(this.dropped);
    this.#wait?.fail(this.dropped);
    this.onLost();
  }
}

/** Shared by all virtual users. */
function nothing(): void {}
