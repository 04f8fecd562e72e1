/** Makes a client of the run a member of a room of the wire contract. */

import { printable } from '../../../protocol/base/printable.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { EVENTS, type Joined, type Refusal } from '../../../protocol/wire/events.ts';
import { nameOf } from '../../fleet/server-name.ts';
import type { OwnSocket } from './own-connection.ts';

const JOIN_TIMEOUT_MS = 10_000;
/** Characters of what the server says when it refuses. */
const MAX_REASON_LENGTH = 300;

/**
 * @returns the worker of the connection; `''` if the server's own handler, which decides what it acknowledges, names none
 * @throws CapacityError JOIN_REFUSED when the server does not know `join_room`
 */
export async function joinRoom(socket: OwnSocket, room: string): Promise<string> {
  const answer = ((await askToJoin(socket, room)) ?? {}) as Partial<Joined & Refusal>;
  const { error, code, fix, worker } = answer;
  if (code !== 'JOIN_REFUSED') return nameOf(worker) ?? '';
  throw new CapacityError(
    code,
    `the server refused to join room ${JSON.stringify(room)}: ${printable(String(error), MAX_REASON_LENGTH)}`,
    typeof fix === 'string' ? printable(fix, MAX_REASON_LENGTH) : 'see its log',
  );
}

async function askToJoin(socket: OwnSocket, room: string): Promise<unknown> {
  try {
    const [answer] = await socket.ask(EVENTS.joinRoom, [{ clientKey: room }], JOIN_TIMEOUT_MS);
    return answer;
  } catch {
    const { text, fix } = socket.ending ?? {};
    if (!socket.connected) {
      throw new CapacityError(
        'TARGET_UNREACHABLE',
        `the connection of the probe or the reference receiver ended before the server acknowledged \`${EVENTS.joinRoom}\`: ${text}`,
        fix ??
          'see the log of the server, or find the time-out that ends idle connections: `npx socketio-capacity doctor --target` holds one',
      );
    }
    throw new CapacityError(
      'JOIN_REFUSED',
      `the server did not acknowledge \`${EVENTS.joinRoom}\` from the probe or the reference receiver`,
      'call instrument(io) in the server, which acknowledges this event',
    );
  }
}
