/** One virtual user's connection: opened by the first step that needs it, restored if asked for, closed at the end. */
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicUs } from '../../protocol/clock.ts';
import type { FailureCode } from '../../protocol/failure-codes.ts';
import type { Emission, OpenOptions } from '../fleet/messages.ts';
import type { FleetConnection } from '../fleet/remote-connection.ts';
import { backoffDelayMs } from './backoff.ts';
import { ConnectionGroup } from './connection-group.ts';
import type { EngineContext } from './engine-context.ts';
import { FlowError, slug, toFlowError } from './flow-error.ts';
import { Mailbox } from './mailbox.ts';
import { Wait } from './wait.ts';

/** An event that some `waitFor` of the flow names. */
export interface AwaitedEvent {
  namespace: string;
  event: string;
}

/** One namespace of the virtual user, and the connection that carries it. */
interface UsedNamespace {
  namespace: string;
  connection: FleetConnection;
  overrides: OpenOptions['overrides'];
  up: boolean;
  /** Why it ended before the news of its opening had been taken in: both may come in one message. */
  endedEarlyBy: string | undefined;
  /** While it is being restored; never rejects. */
  restoring: Promise<void> | undefined;
}

export interface Expectation {
  namespace: string;
  event: string;
  timeoutMs: number;
  timeoutCode: () => FailureCode;
  /** False leaves the event aside and waits on; a throw ends the wait. */
  accept?: (args: unknown[]) => boolean;
  /** Events that were kept count too. */
  fromMailbox?: boolean;
}

export class Session {
  /** Set when a connection was lost for good: the step that runs now is the last one. */
  dropped: FlowError | undefined;
  /** Called when that happens. */
  onLost: () => void = nothing;
  /** Set when the virtual user holds more than the one connection. */
  group: ConnectionGroup | undefined;
  readonly #engine: EngineContext;
  readonly #awaited: AwaitedEvent[];
  #namespaces: UsedNamespace[] = [];
  #mailboxes: Mailbox[] | undefined;
  #wait: Wait | undefined;
  #hasFailed = false;

  constructor(engine: EngineContext, awaited: AwaitedEvent[]) {
    this.#engine = engine;
    this.#awaited = awaited;
  }

  /** The connection if the namespace is up: the fast way for a step that only sends. */
  ready(namespace: string): FleetConnection | undefined {
    for (const link of this.#namespaces) if (link.namespace === namespace && link.up) return link.connection;
    return undefined;
  }

  /** The connection with the namespace up, opened on the virtual user's connection if it is not yet. */
  async use(namespace: string, options?: OpenOptions): Promise<FleetConnection> {
    const link = this.#namespaces.find((one) => one.namespace === namespace);
    if (!link) {
      const [first] = this.#namespaces;
      await first?.restoring;
      return this.#open(namespace, first?.connection ?? this.#newConnection(), options);
    }
    // One that is restored may be lost again at once.
    for (let restoring: Promise<void> | undefined; link.restoring !== restoring; ) {
      restoring = link.restoring;
      await restoring;
    }
    if (!link.up) throw this.dropped ?? new FlowError('disconnected');
    return link.connection;
  }

  /** Emits what the options say; if the namespace is not up yet, it travels with its opening and is sent as soon as it is. */
  async send(namespace: string, options: OpenOptions & { emit: Emission }): Promise<void> {
    const isKnown = this.#namespaces.some((link) => link.namespace === namespace);
    const connection = await this.use(namespace, options);
    if (isKnown) connection.emit(namespace, options.emit.event, options.emit.args);
  }

  /** A connection of its own for the namespace; one that carried it before is closed. */
  async connect(namespace: string, options?: OpenOptions): Promise<void> {
    const former = this.#namespaces.find((one) => one.namespace === namespace)?.connection;
    if (former) {
      this.#namespaces = this.#namespaces.filter((link) => link.connection !== former);
      await former.close();
    }
    await this.#open(namespace, this.#newConnection(), options);
  }

  /**
   * `count` connections, opened at `ratePerSec`; the first is the one that responses and `waitFor` look at.
   * @returns how many are open; the first is
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

  /** Arms a listener now; at most one per virtual user at a time. Whoever calls must `cancel` it at the end. */
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

  /** A virtual user fails once, whatever else goes wrong after its first failure. */
  countFailure({ code }: FlowError): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    const { tally, meter } = this.#engine;
    tally.failed++;
    tally.failures[code] = (tally.failures[code] ?? 0) + 1;
    meter.error(code);
  }

  /** Closes everything; paced by the fleet when many leave together. The virtual user may connect again. */
  async close(): Promise<void> {
    const connections = new Set(this.#namespaces.map((link) => link.connection));
    this.#namespaces = [];
    this.#mailboxes = undefined;
    await Promise.all([this.group?.close(), ...[...connections].map((connection) => connection.close())]);
    this.group = undefined;
  }

  #newConnection(): FleetConnection {
    const connection = this.#engine.fleet.connection();
    connection.onDrop((reason, namespace) => this.#drop(connection, reason, namespace));
    return connection;
  }

  async #open(
    namespace: string,
    connection: FleetConnection,
    options: OpenOptions | undefined,
  ): Promise<FleetConnection> {
    const { meter, config, tally } = this.#engine;
    const link: UsedNamespace = {
      namespace,
      connection,
      overrides: options?.overrides,
      up: false,
      endedEarlyBy: undefined,
      restoring: undefined,
    };
    // push() would make room for 16 more, in every virtual user.
    this.#namespaces = this.#namespaces.concat(link);
    this.#keepAwaited(link);
    const startedAtUs = monotonicUs();
    let tookUs = 0;
    for (let attempt = 1; !link.up; attempt++) {
      try {
        link.endedEarlyBy = undefined;
        const { begunAtUs, openedAtUs } = await connection.open(namespace, options);
        tookUs = openedAtUs - (attempt === 1 ? begunAtUs : startedAtUs);
        link.up = true;
      } catch (error) {
        if (!config.retry || attempt > config.retry.attempts) throw toFlowError(error);
        await sleep(backoffDelayMs(config.retry, attempt));
        tally.retries++;
        meter.count('retry');
      }
    }
    meter.count('connect');
    meter.record('connectTime', tookUs / 1000);
    this.#endIfEnded(link);
    return connection;
  }

  #keepAwaited({ namespace, connection }: UsedNamespace): void {
    for (const { namespace: home, event } of this.#awaited) {
      if (home !== namespace) continue;
      const box = new Mailbox(namespace, event, () => this.#engine.meter.count('eventsDropped'));
      const others = this.#mailboxes?.filter((one) => one.namespace !== namespace || one.event !== event) ?? [];
      this.#mailboxes = [...others, box];
      connection.on(namespace, event, (args) => box.put(args));
    }
  }

  #drop(connection: FleetConnection, reason: string, namespace: string | undefined): void {
    this.#engine.meter.count('disconnect', slug(reason));
    for (const link of this.#namespaces) {
      if (link.connection !== connection) continue;
      if (namespace !== undefined && link.namespace !== namespace) continue;
      if (link.up) this.#end(link, reason);
      else link.endedEarlyBy = reason;
    }
  }

  #endIfEnded(link: UsedNamespace): void {
    if (link.endedEarlyBy !== undefined) this.#end(link, link.endedEarlyBy);
  }

  #end(link: UsedNamespace, reason: string): void {
    link.up = false;
    link.endedEarlyBy = undefined;
    // As in socket.io-client: a connection that the server itself ended does not come back.
    if (this.#engine.config.reconnection && reason !== 'io server disconnect') {
      link.restoring = this.#restore(link, reason);
    } else this.#lose(reason);
  }

  async #restore(link: UsedNamespace, reason: string): Promise<void> {
    const { meter, config, tally } = this.#engine;
    for (let attempt = 1; config.reconnection && attempt <= config.reconnection.attempts; attempt++) {
      await sleep(backoffDelayMs(config.reconnection, attempt), undefined, { ref: false });
      if (!this.#namespaces.includes(link)) return;
      try {
        if (attempt > 1) {
          tally.retries++;
          meter.count('retry');
        }
        link.endedEarlyBy = undefined;
        await link.connection.open(link.namespace, { overrides: link.overrides });
        link.up = true;
        tally.reconnects++;
        meter.count('reconnect');
        this.#endIfEnded(link);
        return;
      } catch {
        // the fleet counts failed attempts by cause
      }
    }
    // The flow may have put another connection in its place meanwhile.
    if (this.#namespaces.includes(link)) this.#lose(reason);
  }

  /** Counted at once: the step that runs now may last as long as the run. */
  #lose(reason: string): void {
    if (this.dropped) return;
    this.dropped = new FlowError(`disconnected_${slug(reason)}`, `the connection was lost: ${reason}`);
    this.countFailure(this.dropped);
    this.#wait?.fail(this.dropped);
    this.onLost();
  }
}

/** One for all virtual users. */
function nothing(): void {}
