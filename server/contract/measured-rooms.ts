/** Which rooms a client can join by `join_room`: those configured for measurements, while the server itself does not use them. */
import { CapacityError } from '../../protocol/errors.ts';
import type { Guard } from '../guard.ts';
import type { AnyNamespace, AnySocket } from '../types.ts';

/** On each worker. A scenario has one room and those of the run itself, or one for each group of its virtual users. */
export const MAX_ROOMS = 1000;

const FIX = 'name the rooms of the scenario, and nothing else, in `rooms` of instrument(io, {rooms: […]})';

/** The longest that a timer can last. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Without public names: connections whose middlewares have not finished, and the server's options. */
interface Private {
  _preConnectSockets?: Map<string, unknown>;
  server: { opts?: { connectionStateRecovery?: { maxDisconnectionDuration?: number } } };
}

export class MeasuredRooms {
  readonly #namespace: AnyNamespace;
  readonly #names: readonly string[];
  /** Rooms with members on this worker, all of which joined here. */
  readonly #rooms = new Set<string>();
  /** Those that are empty now, for as long as the server can restore the sessions of their members. */
  readonly #left = new Map<string, NodeJS.Timeout>();
  /** Connections whose join is in progress. */
  readonly #joining = new Set<string>();
  readonly #onJoin: (room: string, id: string) => void;
  readonly #onDelete: (room: string) => void;
  /** Can change: a server can set its adapter after it has called `instrument(io)`. */
  #adapter: AnyNamespace['adapter'] | undefined;

  /** @param names the rooms, each of which also stands for all that begin with it and a colon */
  constructor(namespace: AnyNamespace, names: readonly string[], guard: Guard) {
    this.#namespace = namespace;
    this.#names = names;
    // The adapter calls them while the server itself joins and leaves.
    this.#onJoin = guard.wrap('rooms', (room, id) => this.#joined(room, id));
    this.#onDelete = guard.wrap('rooms', (room) => this.#emptied(room));
  }

  /**
   * Whether a room is used by others is known for this worker only.
   * @throws CapacityError JOIN_REFUSED; the connection has not joined then
   */
  async join(socket: AnySocket, room: string): Promise<void> {
    this.#watch();
    this.#check(room);
    this.#add(room);
    this.#joining.add(socket.id);
    try {
      await socket.join(room);
    } finally {
      this.#joining.delete(socket.id);
      if (!this.#adapter?.rooms.has(room)) this.#rooms.delete(room);
    }
  }

  /** Idempotent. */
  close(): void {
    this.#adapter?.off('join-room', this.#onJoin);
    this.#adapter?.off('delete-room', this.#onDelete);
    this.#adapter = undefined;
    this.#rooms.clear();
    for (const room of [...this.#left.keys()]) this.#forget(room);
  }

  /** All other names get the same answer, so that it does not reveal which rooms exist. */
  #check(room: string): void {
    if (!this.#names.some((name) => room === name || room.startsWith(`${name}:`))) {
      throw new CapacityError('JOIN_REFUSED', 'the room is not configured for measurements', FIX);
    }
    if (this.#rooms.has(room)) return;
    if (this.#adapter?.rooms.has(room)) {
      throw new CapacityError(
        'JOIN_REFUSED',
        'the server itself uses the room: it has members that did not join by `join_room`',
        FIX,
      );
    }
    if (this.#rooms.size >= MAX_ROOMS) {
      const fix = 'let the virtual users share rooms';
      throw new CapacityError('JOIN_REFUSED', `this worker has ${MAX_ROOMS} rooms for measurements already`, fix);
    }
  }

  #watch(): void {
    const { adapter } = this.#namespace;
    if (adapter === this.#adapter) return;
    this.close();
    this.#adapter = adapter;
    adapter.on('join-room', this.#onJoin);
    adapter.on('delete-room', this.#onDelete);
  }

  /** Once the server itself adds a connection to one of these rooms, further joins by `join_room` are refused. */
  #joined(room: string, id: string): void {
    if (this.#joining.has(id)) return;
    if ((this.#rooms.has(room) || this.#left.has(room)) && this.#isRestored(id)) this.#add(room);
    else {
      this.#rooms.delete(room);
      this.#forget(room);
    }
  }

  /** Connection state recovery puts a connection into its rooms before the namespace knows it. */
  #isRestored(id: string): boolean {
    const { _preConnectSockets: connecting } = this.#namespace as unknown as Private;
    return !this.#namespace.sockets.has(id) && connecting?.has(id) !== true;
  }

  #add(room: string): void {
    this.#rooms.add(room);
    this.#forget(room);
  }

  #emptied(room: string): void {
    if (!this.#rooms.delete(room)) return;
    const { connectionStateRecovery } = (this.#namespace as unknown as Private).server.opts ?? {};
    const restorableMs = connectionStateRecovery?.maxDisconnectionDuration;
    if (restorableMs === undefined) return;
    const [oldest] = this.#left.keys();
    if (this.#left.size === MAX_ROOMS && oldest !== undefined) this.#forget(oldest);
    const timer = setTimeout(() => this.#left.delete(room), Math.min(restorableMs, MAX_TIMER_MS)).unref();
    this.#left.set(room, timer);
  }

  #forget(room: string): void {
    clearTimeout(this.#left.get(room));
    this.#left.delete(room);
  }
}
