/** Sessions that a server may restore: what socket.io-client keeps of them in its sockets. */
import type { Socket } from 'socket.io-client';
import type { RecoverableSession } from '../client/client.ts';

/** Parts of a socket of socket.io-client that are not public: what it asks the server to restore. */
interface SocketPrivates {
  _pid?: string | undefined;
  _lastOffset?: string | undefined;
}

/** @returns undefined if the server has given it none */
export function sessionOf(namespace: string, socket: Socket): RecoverableSession | undefined {
  const { _pid: pid, _lastOffset: offset } = socket as unknown as SocketPrivates;
  return pid === undefined ? undefined : { namespace, pid, offset };
}

/** As if it were the socket of the client before, which the library would have kept. */
export function resume(socket: Socket, { pid, offset }: RecoverableSession): void {
  const privates: SocketPrivates = { _pid: pid, _lastOffset: offset };
  Object.assign(socket, privates);
}
