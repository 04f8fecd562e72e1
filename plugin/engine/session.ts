/** One virtual user's connection: opened by the first step that needs it, restored if asked for, closed at the end. */
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicUs } from '../../protocol/clock.ts';
import type { FleetConnection } from '../fleet/fleet.ts';
import type { Emission, OpenOptions } from '../fleet/messages.ts';
import { backoffDelayMs } from './backoff.ts';
import { ConnectionGroup } from './connection-group.ts';
import { FlowError, slug, toFlowError } from './flow-error.ts';
import { Mailbox } from './mailbox.ts';
import type { Run } from './run.ts';
import { Wait } from './wait.ts';

/** An event that some `waitFor` of the flow names. */
export interface Awaited {
  namespace: string;
  event: string;
}

/** One namespace of the virtual user, and the connection that carries it. */
interface Link {
  namespace: string;
  connection: FleetConnection;
  overrides: OpenOptions['overrides'];
  up: boolean;
  /** While it is being restored; never rejects. */
  restoring: Promise<void> | undefined;
}

export interface Expectation {
  namespace: string;
  event: string;
  timeoutMs: number;
  timeoutCode: () => string;
  /** False leaves the event aside and waits on; a throw ends the wait. */
  accept?: (args: unknown[]) => boolean;
  /** Events that were kept count too. */
  fromMailbox?: boolean;
}

export class Session {
  /** Set when a connection was lost for good: the step that runs now is the last one. */
  dropped: FlowError | undefined;
  /** Set when the virtual user holds more than the one connection. */
  group: ConnectionGroup | undefined;
  readonly #run: Run;
  readonly #awaited: Awaited[];
  #links: Link[] = [];
  #mailboxes: Mailbox[] | undefined;
  #wait: Wait | undefined;

  constructor(run: Run, awaited: Awaited[]) {
    this.#run = run;
    this.#awaited = awaited;
  }

  /** The connection if the namespace is up: the fast way for a step that only sends. */
  ready(namespace: string): FleetConnection | undefined {
    for (const link of this.#links) if (link.namespace === namespace && link.up) return link.connection;
    return undefined;
  }

  /** The connection with the namespace up, opened on the virtual user's connection if it is not yet. */
  async use(namespace: string, options?: OpenOptions): Promise<FleetConnection> {
    const link = this.#links.find((one) => one.namespace === namespace);
    if (!link) {
      const [first] = this.#links;
      await first?.restoring;
      return this.#open(namespace, first?.connection ?? this.#newConnection(), options);
    }
    await link.restoring;
    if (!link.up) throw this.dropped ?? new FlowError('disconnected');
    return link.connection;
  }

  /** Emits what the options say; if the namespace is not up yet, it travels with its opening and is sent as soon as it is. */
  async send(namespace: string, options: OpenOptions & { emit: Emission }): Promise<void> {
    const isKnown = this.#links.some((link) => link.namespace === namespace);
    const connection = await this.use(namespace, options);
    if (isKnown) connection.emit(namespace, options.emit.event, options.emit.args);
  }

  /** A connection of its own for the namespace; one that carried it before is closed. */
  async connect(namespace: string, options?: OpenOptions): Promise<void> {
    const former = this.#links.find((one) => one.namespace === namespace)?.connection;
    if (former) {
      this.#links = this.#links.filter((link) => link.connection !== former);
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
    this.group = new ConnectionGroup(this.#run, ratePerSec);
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

  /** Closes everything; paced by the fleet when many leave together. The virtual user may connect again. */
  async close(): Promise<void> {
    const connections = new Set(this.#links.map((link) => link.connection));
    this.#links = [];
    this.#mailboxes = undefined;
    await Promise.all([this.group?.close(), ...[...connections].map((connection) => connection.close())]);
    this.group = undefined;
  }

  #newConnection(): FleetConnection {
    const connection = this.#run.fleet.connection();
    connection.onDrop((reason, namespace) => this.#drop(connection, reason, namespace));
    return connection;
  }

  async #open(
    namespace: string,
    connection: FleetConnection,
    options: OpenOptions | undefined,
  ): Promise<FleetConnection> {
    const { meter, config, tally } = this.#run;
    const link: Link = { namespace, connection, overrides: options?.overrides, up: false, restoring: undefined };
    // push() would make room for 16 more, in every virtual user.
    this.#links = this.#links.concat(link);
    this.#keepAwaited(link);
    const startedAtUs = monotonicUs();
    let tookUs = 0;
    for (let attempt = 1; !link.up; attempt++) {
      try {
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
    return connection;
  }

  #keepAwaited({ namespace, connection }: Link): void {
    for (const { namespace: home, event } of this.#awaited) {
      if (home !== namespace) continue;
      const box = new Mailbox(namespace, event, () => this.#run.meter.count('eventsDropped'));
      const others = this.#mailboxes?.filter((one) => one.namespace !== namespace || one.event !== event) ?? [];
      this.#mailboxes = [...others, box];
      connection.on(namespace, event, (args) => box.put(args));
    }
  }

  #drop(connection: FleetConnection, reason: string, namespace: string | undefined): void {
    this.#run.meter.count('disconnect', slug(reason));
    for (const link of this.#links) {
      if (link.connection !== connection || !link.up) continue;
      if (namespace !== undefined && link.namespace !== namespace) continue;
      link.up = false;
      // As in socket.io-client: who was sent away by the server does not come back by itself.
      if (this.#run.config.reconnection && reason !== 'io server disconnect')
        link.restoring = this.#restore(link, reason);
      else this.#lose(reason);
    }
  }

  async #restore(link: Link, reason: string): Promise<void> {
    const { meter, config, tally } = this.#run;
    for (let attempt = 1; config.reconnection && attempt <= config.reconnection.attempts; attempt++) {
      await sleep(backoffDelayMs(config.reconnection, attempt), undefined, { ref: false });
      if (!this.#links.includes(link)) return;
      try {
        if (attempt > 1) {
          tally.retries++;
          meter.count('retry');
        }
        await link.connection.open(link.namespace, { overrides: link.overrides });
        link.up = true;
        tally.reconnects++;
        meter.count('reconnect');
        return;
      } catch {
        // the fleet counts failed attempts by cause
      }
    }
    this.#lose(reason);
  }

  #lose(reason: string): void {
    this.dropped = new FlowError(`disconnected_${slug(reason)}`, `the connection was lost: ${reason}`);
    this.#wait?.fail(this.dropped);
  }
}
