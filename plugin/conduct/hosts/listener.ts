/**
 * Listens on the conductor's port, the only open port of a run with several hosts. A host sends the token with its
 * request for a WebSocket. Without the right token, no WebSocket opens, so the conductor never reads messages from
 * unauthenticated clients.
 */
import { randomUUID } from 'node:crypto';
import { type EventEmitter, once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Server, type Socket } from 'socket.io';
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { thisHost } from '../../../protocol/base/machine/this-host.ts';
import { listenOnPort } from '../../../server/http-listener.ts';
import { limitPacketElements, MAX_PACKET_ELEMENTS } from '../../../server/packet-bounds.ts';
import { bearerToken, limitUnauthenticatedConnections, tokenCheck } from '../../../server/unauthenticated.ts';
import { ASSIGNMENT_PATH, type HostAssignment } from './host-assignment.ts';
import type { ConductorTime, HostRefusalReason } from './host-messages.ts';
import { type ConductorSecret, fingerprintOf, formatJoinToken } from './join-token.ts';

/** Ping settings with which a host that does not answer is detected within 5 s. */
const PING = { pingInterval: 2000, pingTimeout: 3000 };
/** Maximum size of a host's message in bytes. The largest messages contain histograms of many broadcasts. */
const MAX_MESSAGE_BYTES = 64 * 1024 ** 2;
const FAREWELL_TIMEOUT_MS = 2000;

export type ConductorListener = Awaited<ReturnType<typeof openConductorListener>>;

/**
 * Opens the port.
 * @param host address to listen on; empty for all addresses
 * @param port port to listen on; 0 for any free port
 * @throws CapacityError PORT_UNAVAILABLE
 */
export async function openConductorListener(host: string, port: number, { token, certificate, key }: ConductorSecret) {
  /**
   * Id of this run. A host that took part in another run with the same secret has the id of that run, and is refused.
   */
  const run = randomUUID();
  const { kernel } = thisHost();
  let orderOf: (host: string) => HostAssignment | undefined = () => undefined;
  const https = createServer({ cert: certificate, key }, (request, response) => {
    const isHost = isToken(bearerToken(request));
    if (isHost) connections.admit(request.socket);
    const order =
      isHost && request.url?.startsWith(ASSIGNMENT_PATH) && orderOf(request.url.slice(ASSIGNMENT_PATH.length));
    response.writeHead(order ? 200 : isHost ? 503 : 401, { connection: 'close' }).end(order && JSON.stringify(order));
  });
  const isToken = tokenCheck(token);
  const connections = limitUnauthenticatedConnections(https);
  await listenOnPort(https, port, host, 'port of the conductor');
  const io = new Server(https, {
    transports: ['websocket'],
    serveClient: false,
    maxHttpBufferSize: MAX_MESSAGE_BYTES,
    ...PING,
    allowRequest: (request, decide) => {
      const isHost = isToken(bearerToken(request));
      if (isHost) connections.admit(request.socket);
      decide(isHost ? undefined : 'the token is not that of this run', isHost);
    },
  });
  const own = (https.address() as AddressInfo).port;
  return {
    run,
    port: own,

    /**
     * Returns the join token for hosts.
     * @param address address at which hosts can connect to the conductor
     */
    joinToken(address: string): string {
      return formatJoinToken({ host: address, port: own, token, fingerprint: fingerprintOf(certificate) });
    },

    /**
     * Answers requests of hosts for their inputs (arguments and variables).
     * @param give returns the inputs; undefined if the run needs no further host
     */
    giveOrders(give: typeof orderOf): void {
      orderOf = give;
    },

    /**
     * Accepts connections of hosts, and answers their clock readings (`time`). Must be called once.
     * @param refuse returns why a host with the right token is refused; undefined admits the host
     * @param onRefused called with the reason when an invalid packet closes a host's connection
     */
    serve(
      refuse: (socket: Socket) => HostRefusalReason | undefined,
      onHost: (socket: Socket) => void,
      onRefused: (problem: string) => void,
    ): void {
      limitPacketElements(io, MAX_PACKET_ELEMENTS, (_event, problem) => onRefused(problem));
      io.use((socket, next) => {
        const refusal = refuse(socket);
        next(refusal && Object.assign(new Error(refusal.message), { data: refusal }));
      });
      io.on('connection', (socket) => {
        socket.on('time', (reply: unknown) => {
          const time: ConductorTime = { monotonicUs: monotonicUs(), kernel, run };
          if (typeof reply === 'function') reply(time);
        });
        onHost(socket);
      });
    },

    /**
     * Closes the port. First waits for the hosts to disconnect, because pending refusals and `end` messages would be
     * lost. Idempotent.
     */
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
