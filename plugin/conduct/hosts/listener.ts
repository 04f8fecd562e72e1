/**
 * The conductor's port, the only one of a run over several hosts. Hosts send the token with the WebSocket upgrade request; without
 * it there is no WebSocket, so messages of unauthenticated clients are never read.
 */
import { randomUUID } from 'node:crypto';
import { type EventEmitter, once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Server, type Socket } from 'socket.io';
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { thisHost } from '../../../protocol/base/machine/this-host.ts';
import { listen } from '../../../server/http-listener.ts';
import { boundPackets, MAX_ARGUMENTS } from '../../../server/packet-bounds.ts';
import { bearerOf, tokenCheck, watchConnections } from '../../../server/unauthenticated.ts';
import type { Refusal, Time } from './host-messages.ts';
import { fingerprintOf, formatJoinToken, type Secret } from './join-line.ts';
import { ORDER_PATH, type Order } from './order.ts';

/** Detects an unresponsive host within 5 s. */
const PING = { pingInterval: 2000, pingTimeout: 3000 };
/** Limit of a message; the largest carry histograms of many broadcasts. */
const MAX_MESSAGE_BYTES = 64 * 1024 ** 2;
const FAREWELL_TIMEOUT_MS = 2000;

export type Listener = Awaited<ReturnType<typeof openListener>>;

/**
 * @param host address to listen on; empty for all
 * @param port 0 for a free port
 * @throws CapacityError PORT_UNAVAILABLE
 */
export async function openListener(host: string, port: number, { token, certificate, key }: Secret) {
  /** Id of this run, which refuses hosts of other runs with the same secret. */
  const run = randomUUID();
  let orderOf: (host: string) => Order | undefined = () => undefined;
  const https = createServer({ cert: certificate, key }, (request, response) => {
    const isHost = isToken(bearerOf(request));
    if (isHost) connections.admit(request.socket);
    const order = isHost && request.url?.startsWith(ORDER_PATH) && orderOf(request.url.slice(ORDER_PATH.length));
    response.writeHead(order ? 200 : isHost ? 503 : 401, { connection: 'close' }).end(order && JSON.stringify(order));
  });
  const isToken = tokenCheck(token);
  const connections = watchConnections(https);
  await listen(https, port, host, 'port of the conductor');
  const io = new Server(https, {
    transports: ['websocket'],
    serveClient: false,
    maxHttpBufferSize: MAX_MESSAGE_BYTES,
    ...PING,
    allowRequest: (request, decide) => {
      const isHost = isToken(bearerOf(request));
      if (isHost) connections.admit(request.socket);
      decide(isHost ? undefined : 'the token is not that of this run', isHost);
    },
  });
  const own = (https.address() as AddressInfo).port;
  return {
    run,
    port: own,

    /** @param address address at which hosts reach the conductor */
    joinToken(address: string): string {
      return formatJoinToken({ host: address, port: own, token, fingerprint: fingerprintOf(certificate) });
    },

    /** Gives orders to hosts that ask. @param give returns undefined if the run needs no further host */
    giveOrders(give: typeof orderOf): void {
      orderOf = give;
    },

    /**
     * Serves hosts, and answers their clock readings (`time`). To be called once.
     * @param refuse returns why a host with the right token is refused; undefined admits it
     * @param onRefused called with the reason when a host's connection is closed for an invalid packet
     */
    serve(
      refuse: (socket: Socket) => Refusal | undefined,
      onHost: (socket: Socket) => void,
      onRefused: (problem: string) => void,
    ): void {
      boundPackets(io, MAX_ARGUMENTS, (_event, problem) => onRefused(problem));
      io.use((socket, next) => {
        const refusal = refuse(socket);
        next(refusal && Object.assign(new Error(refusal.message), { data: refusal }));
      });
      io.on('connection', (socket) => {
        socket.on('time', (reply: unknown) => {
          const time: Time = { monotonicUs: monotonicUs(), kernel: thisHost().kernel, run };
          if (typeof reply === 'function') reply(time);
        });
        onHost(socket);
      });
    },

    /** Closes the port. Waits for hosts to disconnect themselves first, else pending refusals and `end` messages are lost. Idempotent. */
    async close(): Promise<void> {
      const { clients } = io.engine as unknown as { clients: Record<string, EventEmitter> };
      const disconnected = Promise.all(Object.values(clients).map((client) => once(client, 'close')));
      await Promise.race([disconnected, delay(FAREWELL_TIMEOUT_MS, undefined, { ref: false })]);
      const closed = io.close();
      connections.end();
      await closed;
    },
  };
}
