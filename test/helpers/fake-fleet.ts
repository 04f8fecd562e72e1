import type { ClientOptions, RepeatedMessage } from '../../plugin/fleet/client/client.ts';
import { FleetError } from '../../plugin/fleet/client/failure.ts';
import { ConnectionAccounts } from '../../plugin/fleet/connection-accounts.ts';
import type { ListenMode, OpenOptions } from '../../plugin/fleet/fleet-messages.ts';
import { mergeSnapshots } from '../../plugin/fleet/merge.ts';
import type {
  ConnectionWatcher,
  EventListener,
  FleetConnection,
  OpenTimes,
} from '../../plugin/fleet/remote-connection.ts';
import { NO_STATUS } from '../../plugin/run/link.ts';
import { monotonicUs } from '../../protocol/base/clock/clock.ts';
import type { FailureCode } from '../../protocol/codes/failure-codes.ts';

/** Simulated fleet processes without sockets. The test plays the server. */
export class FakeFleet {
  readonly connections: FakeConnection[] = [];
  /** Causes of failure for the next attempts, one for each attempt. */
  readonly failures: (FailureCode | FleetError)[] = [];
  /** Returns the acknowledgement of an emitted event; undefined leaves it unacknowledged. */
  onAck: (event: string, args: unknown[]) => unknown[] | undefined = () => undefined;
  /** Called for every emitted event. It can send events to the connection. */
  onEmit: (connection: FakeConnection, namespace: string, event: string, args: unknown[]) => void = () => {};
  onOpen: (connection: FakeConnection, namespace: string) => void = () => {};
  closed = false;

  connection(): FakeConnection {
    const connection = new FakeConnection(this);
    this.connections.push(connection);
    return connection;
  }

  /** Connection of the only virtual user. */
  get only(): FakeConnection {
    const [connection] = this.connections;
    if (!connection || this.connections.length > 1) throw new Error(`${this.connections.length} connections, not one`);
    return connection;
  }

  get sent(): unknown[][] {
    return this.connections.flatMap((connection) => connection.sent);
  }

  async fault(): Promise<void> {}

  status() {
    const connected = this.connections.filter((connection) => connection.namespaces.length > 0).length;
    return { ...NO_STATUS, connected };
  }

  async reset(): Promise<void> {
    this.connections.length = 0;
  }

  async snapshot() {
    return { ...mergeSnapshots([]), ...new ConnectionAccounts().read(), still: true };
  }

  async freeze() {
    return [];
  }

  async sight() {
    return [];
  }

  async messages() {
    return { sent: 0, unanswered: 0, skippedByServer: 0 };
  }

  async events() {
    return [];
  }

  async close(): Promise<void> {
    this.closed = true;
  }
}

export class FakeConnection implements FleetConnection {
  readonly rooms: string[][] = [];
  readonly #fleet: FakeFleet;
  readonly #listeners = new Set<{ key: string; listener: EventListener }>();
  #watcher: Partial<ConnectionWatcher> = {};
  namespaces: string[] = [];
  readonly overrides: (Partial<ClientOptions> | undefined)[] = [];
  /** Sent events: namespace, event, arguments. */
  readonly sent: unknown[][] = [];
  readonly repeated: RepeatedMessage[] = [];
  closed = false;
  isLost = false;

  constructor(fleet: FakeFleet) {
    this.#fleet = fleet;
  }

  get listenerCount(): number {
    return this.#listeners.size;
  }

  async open(namespace: string, options?: OpenOptions): Promise<OpenTimes> {
    this.overrides.push(options?.overrides);
    await Promise.resolve();
    const cause = this.#fleet.failures.shift();
    if (cause) throw cause instanceof FleetError ? cause : new FleetError(cause, `refused: ${cause}`);
    this.namespaces.push(namespace);
    this.#watcher.opened?.(namespace, this);
    this.#fleet.onOpen(this, namespace);
    if (options?.emit) this.emit(namespace, options.emit.event, options.emit.args);
    const nowUs = monotonicUs();
    return { begunAtUs: nowUs, openedAtUs: nowUs };
  }

  emit(namespace: string, event: string, args: unknown[]): void {
    this.sent.push([namespace, event, ...args]);
    this.#fleet.onEmit(this, namespace, event, args);
  }

  enter(rooms: string[]): void {
    this.rooms.push(rooms);
  }

  repeat(message: RepeatedMessage): void {
    this.repeated.push(message);
  }

  emitWithAck(namespace: string, event: string, args: unknown[], timeoutMs: number): Promise<unknown[]> {
    this.emit(namespace, event, args);
    const answer = this.#fleet.onAck(event, args);
    if (answer) return Promise.resolve(answer);
    return new Promise((_, reject) => {
      setTimeout(() => reject(new FleetError('ack_timeout', 'no acknowledgement')), timeoutMs);
    });
  }

  /** Passes every event to the listener immediately, without holding events back. */
  listen(namespace: string, event: string, listener: EventListener): (mode: ListenMode) => void {
    const entry = { key: `${namespace} ${event}`, listener };
    return (mode) => void (mode === 'drop' ? this.#listeners.delete(entry) : this.#listeners.add(entry));
  }

  watch(watcher: Partial<ConnectionWatcher>): void {
    this.#watcher = watcher;
  }

  async close(): Promise<void> {
    this.closed = true;
    this.namespaces = [];
  }

  deliver(namespace: string, event: string, ...args: unknown[]): void {
    for (const { key, listener } of [...this.#listeners])
      if (key === `${namespace} ${event}`) listener(args, { event, atUs: 0 });
  }

  /**
   * Drops the connection.
   * @param returns whether it reconnects; the test must then call `comeBack` or `stayAway`
   */
  drop(reason: string, namespace?: string, returns = false): void {
    this.namespaces = namespace === undefined ? [] : this.namespaces.filter((name) => name !== namespace);
    this.isLost ||= namespace === undefined;
    this.#watcher.dropped?.(reason, namespace, returns, this);
  }

  comeBack(namespace: string, retries = 0): void {
    this.namespaces.push(namespace);
    this.isLost = false;
    this.#watcher.returned?.({ namespace, lostBy: undefined, retries }, this);
  }

  stayAway(reason: string, retries = 0): void {
    this.#watcher.returned?.({ namespace: undefined, lostBy: reason, retries }, this);
  }

  refuse(cause: FailureCode): void {
    this.#watcher.refused?.(new FleetError(cause, `refused: ${cause}`));
  }
}
