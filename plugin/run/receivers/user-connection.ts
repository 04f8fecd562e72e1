/** What the fleet is to the virtual users of a load: makes the connections of one client of the run, by `socket.io-client`. */
import { monotonicUs } from '../../../protocol/clock/clock.ts';
import type { CapacityError } from '../../../protocol/errors.ts';
import type { RepeatedMessage } from '../../fleet/client/repeated-message.ts';
import { FleetError } from '../../fleet/fleet-error.ts';
import type { Emission, ListenMode, OpenOptions } from '../../fleet/messages.ts';
import type { FleetConnection, Opened, Watcher } from '../../fleet/remote-connection.ts';
import type { ConnectionTarget } from '../../script/connection-target.ts';
import { connectOfficial, type Listeners } from './official-client.ts';
import type { Came } from './own-clients.ts';

/** One of a client's namespaces. */
type Carried = Omit<Came, 'learned'>;

interface Wanted {
  namespace: string;
  event: string;
  listener: (args: unknown[]) => void;
}

export interface Connecting {
  defaults: ConnectionTarget;
  signal: AbortSignal;
  listeners: Listeners;
  /** Events whose acknowledgement the run asks for, as the fleet does. */
  asked: readonly string[];
}

export class UserConnection implements FleetConnection {
  /** Why the last attempt failed. */
  failure: CapacityError | undefined;
  /** By namespace, in the order in which they were opened. */
  readonly carried = new Map<string, Carried>();
  readonly #options: Connecting;
  readonly #wanted = new Set<Wanted>();
  #watcher: Partial<Watcher> = {};
  #isClosing = false;

  constructor(options: Connecting) {
    this.#options = options;
  }

  async open(namespace: string, options: OpenOptions = {}): Promise<Opened> {
    const { defaults, signal, listeners } = this.#options;
    const begunAtUs = monotonicUs();
    const connection = { ...defaults, ...options.overrides, namespace };
    const onAny = (event: string, ...args: unknown[]) => {
      for (const one of this.#wanted) if (one.namespace === namespace && one.event === event) one.listener(args);
      listeners.onAny?.(event, ...args);
    };
    const [first] = this.carried.values();
    const socket = await connectOfficial(connection, signal, { ...listeners, onAny }, first?.socket.io).catch(
      (error) => {
        this.failure = error;
        throw new FleetError('closed', error.message);
      },
    );
    this.carried.set(namespace, { socket, connection });
    socket.once('disconnect', (reason) => {
      if (!this.#isClosing) this.#watcher.dropped?.(reason, namespace, false, this);
    });
    this.#watcher.opened?.(namespace, this);
    if (options.emit) this.emit(namespace, options.emit.event, options.emit.args);
    return { begunAtUs, openedAtUs: monotonicUs() };
  }

  emit(namespace: string, event: Emission['event'], args: unknown[]): void {
    const { asked, listeners } = this.#options;
    const acknowledged = asked.includes(event) ? [(...answer: unknown[]) => listeners.onAck?.(event, answer)] : [];
    this.#noteJoin(namespace, event, args);
    this.carried.get(namespace)?.socket.emit(event, ...args, ...acknowledged);
  }

  async emitWithAck(namespace: string, event: string, args: unknown[], timeoutMs: number): Promise<unknown[]> {
    const { socket } = this.carried.get(namespace) ?? {};
    this.#noteJoin(namespace, event, args);
    return new Promise((resolve, reject) => {
      const settle = (report: () => void) => {
        clearTimeout(timer);
        socket?.off('disconnect', onDisconnect);
        report();
      };
      const onDisconnect = (reason: string) => settle(() => reject(new FleetError('closed', reason)));
      const timer = setTimeout(
        () => settle(() => reject(new FleetError('ack_timeout', `no acknowledgement of ${event}`))),
        timeoutMs,
      );
      socket?.once('disconnect', onDisconnect);
      socket?.emit(event, ...args, (...answer: unknown[]) => settle(() => resolve(answer)));
    });
  }

  #noteJoin(namespace: string, event: string, args: unknown[]): void {
    const carried = this.carried.get(namespace);
    if (carried && this.#options.asked.includes(event)) carried.joined = args;
  }

  /** There is no process between that could hold them. */
  listen(namespace: string, event: string, listener: Wanted['listener']): (mode: ListenMode) => void {
    const wanted = { namespace, event, listener };
    return (mode) => void (mode === 'drop' ? this.#wanted.delete(wanted) : this.#wanted.add(wanted));
  }

  enter(rooms: string[], namespace: string): void {
    const carried = this.carried.get(namespace);
    if (carried) carried.rooms = rooms;
  }

  repeat({ namespace, event, args, periodUs, count, acknowledge }: RepeatedMessage): void {
    const { socket } = this.carried.get(namespace) ?? {};
    // Only its end stops the timer.
    if (!socket?.connected) return;
    const acknowledged = acknowledge ? [() => {}] : [];
    const timer = setInterval(() => {
      for (let sent = 0; sent < count; sent++) socket.emit(event, ...args, ...acknowledged);
    }, periodUs / 1000);
    socket.once('disconnect', () => clearInterval(timer));
  }

  watch(watcher: Partial<Watcher>): void {
    this.#watcher = watcher;
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    for (const { socket } of this.carried.values()) socket.disconnect();
  }
}
