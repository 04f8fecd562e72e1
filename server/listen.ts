import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { CapacityError } from '../protocol/codes/errors.ts';

/** Length of the kernel's queue of connections while the event loop is busy; the kernel caps it at `somaxconn`. */
const BACKLOG = 4096;

/**
 * Returns the port, chosen by the system if `port` is 0.
 * @param host empty for all IPv4 and IPv6 addresses @param purpose name of the port in the error message
 * @throws CapacityError PORT_UNAVAILABLE
 */
export async function listen(server: Server, port: number, host: string, purpose: string): Promise<number> {
  try {
    server.listen({ port, host, backlog: BACKLOG });
    await once(server, 'listening');
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const address = `${host || '*'}:${port}`;
    const [problem, fix] =
      code === 'EADDRINUSE'
        ? [
            `${address} is in use by another program`,
            `free the port or choose another; \`ss -ltnp 'sport = :${port}'\` shows the program`,
          ]
        : [
            `cannot listen on ${address}: ${message}`,
            'choose an address of this machine, and a port on which this user can listen',
          ];
    throw new CapacityError('PORT_UNAVAILABLE', `${purpose}: ${problem}`, fix, { cause });
  }
  return (server.address() as AddressInfo).port;
}
