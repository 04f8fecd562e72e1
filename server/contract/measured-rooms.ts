/** Which rooms a client can join by `join_room`: those that the owner of the server has named for measurements. */
import { CapacityError } from '../../protocol/codes/errors.ts';
import type { AnyNamespace, AnySocket } from '../any-server.ts';

/** On each worker. A scenario has one room and those of the run itself, or one for each group of its virtual users. */
export const MAX_ROOMS = 1000;
/** In which one connection can be: together they take as much memory as the connection itself. */
export const MAX_ROOMS_OF_ONE = 100;

export class MeasuredRooms {
  readonly #namespace: AnyNamespace;
  readonly #names: readonly string[];
  /** Those that have or had members on this worker. */
  readonly #rooms = new Set<string>();

  /** @param names the rooms, each of which also stands for all that begin with it and a colon */
  constructor(namespace: AnyNamespace, names: readonly string[]) {
    this.#namespace = namespace;
    this.#names = names;
  }

  /** @throws CapacityError JOIN_REFUSED; the connection has not joined then */
  async join(socket: AnySocket, room: string): Promise<void> {
    // All other names get the same answer, so that it does not reveal which rooms exist.
    if (!this.#names.some((name) => room === name || room.startsWith(`${name}:`))) {
      const fix = 'name the rooms of the scenario, and nothing else, in `rooms` of instrument(io, {rooms: […]})';
      throw new CapacityError('JOIN_REFUSED', 'the room is not configured for measurements', fix);
    }
    if (!socket.rooms.has(room)) this.#requireFew(socket.rooms);
    if (!this.#rooms.has(room)) this.#add(room);
    await socket.join(room);
  }

  #requireFew(joined: Set<string>): void {
    if (joined.size < MAX_ROOMS_OF_ONE) return;
    if ([...joined].filter((one) => this.#rooms.has(one)).length < MAX_ROOMS_OF_ONE) return;
    const fix = 'let each virtual user join fewer rooms: `rooms.perConnection`';
    const message = `this connection is in ${MAX_ROOMS_OF_ONE} rooms for measurements already`;
    throw new CapacityError('JOIN_REFUSED', message, fix);
  }

  #add(room: string): void {
    if (this.#rooms.size >= MAX_ROOMS) {
      const { rooms } = this.#namespace.adapter;
      for (const one of this.#rooms) if (!rooms.has(one)) this.#rooms.delete(one);
    }
    if (this.#rooms.size >= MAX_ROOMS) {
      const fix = 'let the virtual users share rooms, and nobody else join rooms of these names';
      throw new CapacityError('JOIN_REFUSED', `this worker has ${MAX_ROOMS} rooms for measurements already`, fix);
    }
    this.#rooms.add(room);
  }
}
