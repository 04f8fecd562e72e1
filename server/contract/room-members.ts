/** Counts a room's members, on this worker and on all workers. */
import { z } from 'zod';
import { within } from '../../protocol/base/within.ts';
import { CapacityError } from '../../protocol/codes/errors.ts';
import type { AnyNamespace } from '../any-server.ts';
import type { Guard } from '../guard.ts';

/** Event between servers, with a prefix that the instrumented server's own events do not have. */
const MEMBERS_EVENT = 'socketio-capacity:members';
/** Fallback: cluster adapters time out after 5 s by default. */
const TIMEOUT_MS = 7000;

export function localMembers(namespace: AnyNamespace, room: string): number {
  return namespace.adapter.rooms.get(room)?.size ?? 0;
}

/** Answers the requests of other workers. @returns a function that stops it */
export function answerMembers(namespace: AnyNamespace, guard: Guard): () => void {
  const listener = guard.wrap('members', (room: string, answer: (members: number) => void) =>
    answer(localMembers(namespace, room)),
  );
  namespace.on(MEMBERS_EVENT, listener);
  return () => {
    namespace.off(MEMBERS_EVENT, listener);
  };
}

/**
 * Sums room sizes: each worker sends one number, however large the room is.
 * @returns members on all workers, and the number of other workers with members
 * @throws CapacityError REQUEST_FAILED when a worker does not answer or the adapter's broker is unavailable
 */
export async function countMembers(namespace: AnyNamespace, room: string) {
  try {
    // The in-memory adapter counts one server, itself, and does not support serverSideEmit.
    if ((await namespace.adapter.serverCount()) <= 1)
      return { members: localMembers(namespace, room), otherWorkers: 0 };
    const answers = await within(namespace.serverSideEmitWithAck(MEMBERS_EVENT, room), TIMEOUT_MS);
    if (answers === undefined) throw new Error(`no answer within ${TIMEOUT_MS} ms`);
    const others = z.array(z.number().int().nonnegative()).parse(answers);
    return {
      members: others.reduce((sum, members) => sum + members, localMembers(namespace, room)),
      otherWorkers: others.filter((members) => members > 0).length,
    };
  } catch (cause) {
    const message = `cannot count the members of room ${JSON.stringify(room)} on all workers: ${(cause as Error).message}`;
    const fix = 'check that all workers run, are instrumented, and reach the server of their adapter, such as Redis';
    throw new CapacityError('REQUEST_FAILED', message, fix, { cause });
  }
}
