/** The sentinel's process: connects, joins and timestamps receipts on command; ends with its parent. */
import type { Socket } from 'socket.io-client';
import { monotonicUs } from '../../../protocol/clock/clock.ts';
import { CapacityError } from '../../../protocol/errors.ts';
import { EVENTS, isBroadcast } from '../../../protocol/events.ts';
import { tellParent } from '../../../protocol/helpers/tell-parent.ts';
import { come } from './come.ts';
import { joinRoom } from './official-client.ts';
import type { OwnClient } from './own-clients.ts';
import type { SentinelAnswer, SentinelCommand } from './sentinel.ts';

const abort = new AbortController();
let socket: Socket | undefined;

process.on('message', (command: SentinelCommand) => {
  const done = command.op === 'connect' ? connect(command.client) : join(command.room);
  done.catch(fail);
});
process.on('disconnect', () => {
  abort.abort();
  socket?.disconnect();
});
// Ctrl-C reaches the whole group of a terminal, and SIGTERM may, too; the parent decides when it ends.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});

async function connect(client: OwnClient): Promise<void> {
  const { socket: connected } = await come(client, abort.signal);
  connected.on(EVENTS.broadcast, (message: unknown) => {
    if (isBroadcast(message)) answer({ op: 'received', seq: message.seq, atUs: monotonicUs() });
  });
  connected.on('disconnect', () => answer({ op: 'left', atUs: monotonicUs() }));
  socket = connected;
  answer({ op: 'connected' });
}

async function join(room: string): Promise<void> {
  const connected = socket as Socket;
  const worker = await joinRoom(connected, room).catch((error: Error) => {
    // A join without an answer may still be carried out, and would make a member that the run does not know.
    connected.disconnect();
    throw error;
  });
  answer({ op: 'joined', worker, atUs: monotonicUs() });
}

function answer(one: SentinelAnswer): void {
  tellParent(one);
}

function fail(error: Error): void {
  const unexpected = () => new CapacityError('TARGET_UNREACHABLE', error.message, "check the target's URL and path");
  const { code, message, fix } = error instanceof CapacityError ? error : unexpected();
  answer({ op: 'failed', code, message, fix });
}
