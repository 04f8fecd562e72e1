/**
 * The only port of a run over several hosts: the conductor listens, all others call it. The token of the join line comes with the
 * request for a WebSocket: without it there is none, and nothing that a stranger sends is ever read.
 */
import { randomUUID } from 'node:crypto';
import { type EventEmitter, once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Server, type Socket } from 'socket.io';
import { monotonicUs } from '../../../protocol/base/clock/clock.ts';
import { thisHost } from '../../../protocol/base/machine/this-host.ts';
import { bearerOf, tokenCheck } from '../../../server/control/token.ts';
import { listen } from '../../../server/listen.ts';
import { boundPackets, MAX_ARGUMENTS } from '../../../server/packet-bounds.ts';
import { watchConnections } from '../../../server/strangers.ts';
import type { Refusal, Time } from './host-messages.ts';
import { fingerprintOf, formatJoinLine, type Secret } from './join-line.ts';

/** A host that does not answer is noticed within 5 s. */
const PING = { pingInterval: 2000, pingTimeout: 3000 };
/** The largest message of a host has histograms of many broadcasts. */
const MAX_MESSAGE_BYTES = 64 * 1024 ** 2;
const FAREWELL_TIMEOUT_MS = 2000;

export type Listener = Awaited<ReturnType<typeof openListener>>;

/**
 * @param host empty for all addresses
 * @param port 0 for a free one
 * @throws CapacityError PORT_UNAVAILABLE
 */
export async function openListener(host: string, port: number, { token, certificate, key }: Secret) {
  /** Tells this run from others with the same secret: their hosts have no place in it. */
  const run = randomUUID();
  const https = createServer({ cert: certificate, key });
  const connections = watchConnections(https);
  await listen(https, port, host, 'port of the conductor');
  const isToken = tokenCheck(token);
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

    /** @param reached the host by which the others reach this one */
    joinLine(reached: string): string {
      return formatJoinLine({ host: reached, port: own, token, fingerprint: fingerprintOf(certificate) });
    },

    /**
     * To be called once. Every host can read this one's clock: `time`.
     * @param refuse whether a host, which has the token, may not come in now
     * @param onRefused gets why the connection of a host was closed
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

    /** Idempotent. Hosts that were refused, or told to end, disconnect themselves: closing at once would discard what they were told. */
    async close(): Promise<void> {
      const { clients } = io.engine as unknown as { clients: Record<string, EventEmitter> };
      const gone = Promise.all(Object.values(clients).map((client) => once(client, 'close')));
      await Promise.race([gone, delay(FAREWELL_TIMEOUT_MS, undefined, { ref: false })]);
      const closed = io.close();
      connections.end();
      await closed;
    },
  };
}
