/**
 * The only port of a run over several hosts: the conductor listens, all others call it. Each role has its own namespace; who does
 * not know the token of the join line gets into none.
 */
import { type EventEmitter, once } from 'node:events';
import { createServer, type Server as HttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type Namespace, Server, type Socket } from 'socket.io';
import { monotonicUs } from '../../../protocol/clock/clock.ts';
import { thisHost } from '../../../protocol/machine/host.ts';
import { tokenCheck } from '../../../server/control/token.ts';
import { listen } from '../../../server/listen.ts';
import { watchSockets } from '../../../server/open-sockets.ts';
import { fingerprintOf, formatJoinLine } from './join-line.ts';
import type { Refusal } from './messages.ts';
import type { Secret } from './secret.ts';

/** A host that does not answer is noticed within 5 s. */
const PING = { pingInterval: 2000, pingTimeout: 3000 };
/** Histograms of many broadcasts. */
const MAX_MESSAGE_BYTES = 64 * 1024 ** 2;
/** Wrong tokens of one address in one minute. */
const MAX_WRONG_TOKENS = 5;
const FAREWELL_TIMEOUT_MS = 2000;

export class Listener {
  readonly #https: HttpsServer;
  readonly #io: Server;
  readonly #endSockets: () => void;
  readonly #secret: Secret;
  readonly #isToken: (given: unknown) => boolean;
  readonly #wrong = new Map<string, { count: number; sinceMs: number }>();

  private constructor(https: HttpsServer, endSockets: () => void, secret: Secret) {
    this.#https = https;
    this.#endSockets = endSockets;
    this.#secret = secret;
    this.#isToken = tokenCheck(secret.token);
    this.#io = new Server(https, {
      transports: ['websocket'],
      serveClient: false,
      maxHttpBufferSize: MAX_MESSAGE_BYTES,
      ...PING,
    });
  }

  /**
   * @param port 0 for a free one
   * @throws CapacityError PORT_TAKEN, LISTEN_FAILED
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
   * Everybody in the namespace can read this host's clock: `time`.
   * @param refuse whether somebody with the token can come in now
   */
  role(name: string, refuse: (socket: Socket) => Refusal | undefined): Namespace {
    const namespace = this.#io.of(name);
    namespace.use((socket, next) => {
      const refusal = this.#refuseToken(socket) ?? refuse(socket);
      next(refusal && Object.assign(new Error(refusal.message), { data: refusal }));
    });
    namespace.on('connection', (socket) => {
      socket.on('time', (reply: unknown) => {
        if (typeof reply === 'function') reply({ monotonicUs: monotonicUs(), kernel: thisHost().kernel });
      });
    });
    return namespace;
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

  #refuseToken({ handshake }: Socket): Refusal | undefined {
    const wrong = this.#wrong.get(handshake.address);
    const isRecent = wrong !== undefined && performance.now() - wrong.sinceMs < 60_000;
    if (isRecent && wrong.count >= MAX_WRONG_TOKENS) return wrongToken('too many wrong tokens; wait a minute');
    if (this.#isToken(handshake.auth.token)) return undefined;
    if (isRecent) wrong.count++;
    else this.#wrong.set(handshake.address, { count: 1, sinceMs: performance.now() });
    return wrongToken('the token is not that of this run');
  }
}

function wrongToken(message: string): Refusal {
  return {
    code: 'JOIN_LINE_WRONG',
    message,
    fix: 'set CAPACITY_CONDUCTOR to the line that this run’s conductor has printed',
  };
}
