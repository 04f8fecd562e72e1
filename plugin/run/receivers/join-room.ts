/** Lets a client of the run join a room by the wire contract's event `join_room`. */

import { printableLine } from '../../../protocol/base/printable.ts';
import { CapacityError } from '../../../protocol/codes/errors.ts';
import { CONTRACT_EVENTS, type JoinAck, type MessageRefusal } from '../../../protocol/wire/events.ts';
import { validServerName } from '../../fleet/server-name.ts';
import type { RunSocket } from './run-connection.ts';

const JOIN_TIMEOUT_MS = 10_000;
const MAX_REASON_LENGTH = 300;

/**
 * Joins a room.
 * @returns name of the worker that holds the connection; `''` if the server's acknowledgement has no name
 * @throws CapacityError JOIN_REFUSED if the server refuses or does not acknowledge, TARGET_UNREACHABLE if the
 * connection closed
 */
export async function joinRoom(socket: RunSocket, room: string): Promise<string> {
  const answer = ((await askToJoin(socket, room)) ?? {}) as Partial<JoinAck & MessageRefusal>;
  const { error, code, fix, worker } = answer;
  if (code !== 'JOIN_REFUSED') return validServerName(worker) ?? '';
  throw new CapacityError(
    code,
    `the server refused to join room ${JSON.stringify(room)}: ${printableLine(String(error), MAX_REASON_LENGTH)}`,
    typeof fix === 'string' ? printableLine(fix, MAX_REASON_LENGTH) : 'see its log',
  );
}

async function askToJoin(socket: RunSocket, room: string): Promise<unknown> {
  try {
    const [answer] = await socket.ask(CONTRACT_EVENTS.joinRoom, [{ clientKey: room }], JOIN_TIMEOUT_MS);
    return answer;
  } catch {
    const { text, fix } = socket.ending ?? {};
    if (!socket.connected) {
      throw new CapacityError(
        'TARGET_UNREACHABLE',
        `the connection of the probe or the reference receiver closed before the server acknowledged \`${CONTRACT_EVENTS.joinRoom}\`: ${text}`,
        fix ??
          'see the log of the server, or find the time-out that ends idle connections: `npx socketio-capacity doctor --target` holds one',
      );
    }
    throw new CapacityError(
      'JOIN_REFUSED',
      `the server did not acknowledge \`${CONTRACT_EVENTS.joinRoom}\` from the probe or the reference receiver`,
      'call instrument(io) in the server, which acknowledges this event',
    );
  }
}
