/**
 * Restricts `join_room` to rooms that the server's owner has named, and counts the members of a room on all workers.
 */

import { z } from 'zod';
import { resultWithin } from '../../protocol/base/within.ts';
import { CapacityError } from '../../protocol/codes/errors.ts';
import type { AnyNamespace, AnySocket } from '../any-server.ts';
import type { HandlerGuard } from '../guard.ts';

/**
 * Maximum number of measured rooms per worker. Most scenarios have one room and the run's own room, or one room per
 * group of virtual users.
 */
export const MAX_ROOMS = 1000;
/**
 * Maximum number of measured rooms per connection. With this many, the rooms take as much memory as the connection
 * itself.
 */
export const MAX_ROOMS_PER_CONNECTION = 100;

export class MeasuredRooms {
  readonly #namespace: AnyNamespace;
  readonly #names: readonly string[];
  /** Measured rooms that have, or had, members on this worker. */
  readonly #rooms = new Set<string>();

  /** @param names allowed rooms; a name also allows every room that begins with the name and a colon */
  constructor(namespace: AnyNamespace, names: readonly string[]) {
    this.#namespace = namespace;
    this.#names = names;
  }

  /** @throws CapacityError JOIN_REFUSED; the room is not joined */
  async join(socket: AnySocket, room: string): Promise<void> {
    // Every other name gets the same error, so that the error does not reveal which rooms exist.
    if (!this.#names.some((name) => room === name || room.startsWith(`${name}:`))) {
      const fix = 'name the rooms of the scenario, and nothing else, in `rooms` of instrument(io, {rooms: […]})';
      throw new CapacityError('JOIN_REFUSED', 'the room is not configured for measurements', fix);
    }
    if (!socket.rooms.has(room)) this.#requireFew(socket.rooms);
    if (!this.#rooms.has(room)) this.#add(room);
    await socket.join(room);
  }

  #requireFew(joined: Set<string>): void {
    if (joined.size < MAX_ROOMS_PER_CONNECTION) return;
    if ([...joined].filter((name) => this.#rooms.has(name)).length < MAX_ROOMS_PER_CONNECTION) return;
    const fix = 'let each virtual user join fewer rooms: `rooms.perConnection`';
    const message = `this connection is in ${MAX_ROOMS_PER_CONNECTION} rooms for measurements already`;
    throw new CapacityError('JOIN_REFUSED', message, fix);
  }

  #add(room: string): void {
    if (this.#rooms.size >= MAX_ROOMS) {
      const { rooms } = this.#namespace.adapter;
      for (const name of this.#rooms) if (!rooms.has(name)) this.#rooms.delete(name);
    }
    if (this.#rooms.size >= MAX_ROOMS) {
      const fix = 'let the virtual users share rooms, and use these room names for measurements only';
      throw new CapacityError('JOIN_REFUSED', `this worker has ${MAX_ROOMS} rooms for measurements already`, fix);
    }
    this.#rooms.add(room);
  }
}

/** Name of an event between servers. The prefix distinguishes it from the instrumented server's own events. */
const MEMBERS_EVENT = 'socketio-capacity:members';
/** Timeout in milliseconds if the adapter has none. Cluster adapters time out after 5 s by default. */
const TIMEOUT_MS = 7000;

export function countLocalMembers(namespace: AnyNamespace, room: string): number {
  return namespace.adapter.rooms.get(room)?.size ?? 0;
}

/**
 * Replies to requests of other workers for their number of members.
 * @returns a function that stops it
 */
export function answerMemberCounts(namespace: AnyNamespace, guard: HandlerGuard): () => void {
  const listener = guard.wrap('members', (room: string, answer: (members: number) => void) =>
    answer(countLocalMembers(namespace, room)),
  );
  namespace.on(MEMBERS_EVENT, listener);
  return () => {
    namespace.off(MEMBERS_EVENT, listener);
  };
}

/**
 * Adds up the members of a room over all workers. Each worker sends a single number, whatever the size of the room.
 * @returns members on all workers, and the number of other workers with members
 * @throws CapacityError REQUEST_FAILED if a worker does not reply, or if the adapter's broker is unavailable
 */
export async function countRoomMembers(namespace: AnyNamespace, room: string) {
  try {
    // The in-memory adapter counts only its own server, and does not support serverSideEmit.
    if ((await namespace.adapter.serverCount()) <= 1)
      return { members: countLocalMembers(namespace, room), otherWorkers: 0 };
    const answers = await resultWithin(namespace.serverSideEmitWithAck(MEMBERS_EVENT, room), TIMEOUT_MS);
    if (answers === undefined) throw new Error(`no answer within ${TIMEOUT_MS} ms`);
    const others = z.array(z.number().int().nonnegative()).parse(answers);
    return {
      members: others.reduce((sum, members) => sum + members, countLocalMembers(namespace, room)),
      otherWorkers: others.filter((members) => members > 0).length,
    };
  } catch (cause) {
    const message = `cannot count the members of room ${JSON.stringify(room)} on all workers: ${(cause as Error).message}`;
    const fix = 'check that all workers run, are instrumented, and reach the server of their adapter, such as Redis';
    throw new CapacityError('REQUEST_FAILED', message, fix, { cause });
  }
}
