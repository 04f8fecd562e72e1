/**
 * The only port of a run over several hosts: the conductor listens, all others call it. The token of the join line comes with the
 * request for a WebSocket: without it there is none, and nothing that a stranger sends is ever read.
 */
import { randomUUID } from 'node:crypto';
import { type EventEmitter, once } from 'node:events';
import { createServer, type Server as HttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Server, type Socket } from 'socket.io';
import { monotonicUs } from '../../../protocol/clock/clock.ts';
import { thisHost } from '../../../protocol/machine/host.ts';
import { bearerOf, tokenCheck } from '../../../server/control/token.ts';
import { listen } from '../../../server/listen.ts';
import { watchSockets } from '../../../server/open-sockets.ts';
import { watchStrangers } from '../../../server/strangers.ts';
import { fingerprintOf, formatJoinLine, type Secret } from './join-line.ts';
import type { Refusal, Time } from './messages.ts';

/** A host that does not answer is noticed within 5 s. */
const PING = { pingInterval: 2000, pingTimeout: 3000 };
/** The largest message of a host has histograms of many broadcasts. */
const MAX_MESSAGE_BYTES = 64 * 1024 ** 2;
const FAREWELL_TIMEOUT_MS = 2000;

export class Listener {
  /** Tells this run from others with the same secret: their hosts have no place in it. */
  readonly run = randomUUID();
  readonly #https: HttpsServer;
  readonly #io: Server;
  readonly #endSockets: () => void;
  readonly #secret: Secret;

  private constructor(https: HttpsServer, endSockets: () => void, secret: Secret) {
    this.#https = https;
    this.#endSockets = endSockets;
    this.#secret = secret;
    const isToken = tokenCheck(secret.token);
    const admit = watchStrangers(https);
    this.#io = new Server(https, {
      transports: ['websocket'],
      serveClient: false,
      maxHttpBufferSize: MAX_MESSAGE_BYTES,
      ...PING,
      allowRequest: (request, decide) => {
        const isHost = isToken(bearerOf(request));
        if (isHost) admit(request.socket);
        decide(isHost ? undefined : 'the token is not that of this run', isHost);
      },
    });
  }

  /**
   * @param host empty for all addresses
   * @param port 0 for a free one
   * @throws CapacityError PORT_UNAVAILABLE
   */
  static async open(host: string, port: number, secret: Secret): Promise<Listener> {
    const https = createServer({ cert: secret.certificate, key: secret.key });
    const endSockets = watchSockets(https);
    await listen(https, port, host, 'port of the conductor');
    return new Listener(https, endSockets, secret);
  }

  get port(): number {
    return (this.#https.address() as AddressInfo).port;
  }

  /** @param host by which the others reach this one */
  joinLine(host: string): string {
    const { token, certificate } = this.#secret;
    return formatJoinLine({ host, port: this.port, token, fingerprint: fingerprintOf(certificate) });
  }

  /**
   * To be called once. Every host can read this one's clock: `time`.
   * @param refuse whether a host, which has the token, may not come in now
   */
  serve(refuse: (socket: Socket) => Refusal | undefined, onHost: (socket: Socket) => void): void {
    this.#io.use((socket, next) => {
      const refusal = refuse(socket);
      next(refusal && Object.assign(new Error(refusal.message), { data: refusal }));
    });
    this.#io.on('connection', (socket) => {
      socket.on('time', (reply: unknown) => {
        const time: Time = { monotonicUs: monotonicUs(), kernel: thisHost().kernel, run: this.run };
        if (typeof reply === 'function') reply(time);
      });
      onHost(socket);
    });
  }

  /** Idempotent. Hosts that were refused, or told to end, disconnect themselves: closing at once would discard what they were told. */
  async close(): Promise<void> {
    const { clients } = this.#io.engine as unknown as { clients: Record<string, EventEmitter> };
    const gone = Promise.all(Object.values(clients).map((client) => once(client, 'close')));
    await Promise.race([gone, delay(FAREWELL_TIMEOUT_MS, undefined, { ref: false })]);
    const closed = this.#io.close();
    this.#endSockets();
    await closed;
  }
}
