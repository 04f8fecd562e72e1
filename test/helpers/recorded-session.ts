/** A scripted Engine.IO server that records the requests and frames of a client. */
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { clientFrames, serverFrame, text, upgradeAnswer } from './fake-wire.ts';

interface Request {
  target: string;
  headers: Record<string, string>;
  body: string;
}

/**
 * Number of polls before the server replies to the probe: the handshake, the reply of the namespace, and a pending
 * poll.
 */
const POLLS_BEFORE_PROBE = 3;

export class RecordedSession extends EventEmitter {
  readonly polls: Request[] = [];
  readonly posts: Request[] = [];
  readonly upgrades: Request[] = [];
  frames: unknown[] = [];
  /** Kinds of received requests, in order. */
  readonly order: string[] = [];
  /** Headers of every response to a polling request. */
  answerHeaders: Record<string, string | string[]> = {};
  readonly #server = createServer((request, response) => this.#onRequest(request, response));
  readonly #offers: string[];
  #waiting: ServerResponse | undefined;
  #toSend: string[] = [];
  #webSocket: Socket | undefined;
  #probed: Socket | undefined;

  /** @param offers upgrades that the handshake offers */
  constructor(offers: string[]) {
    super();
    this.#offers = offers;
    this.#server.on('upgrade', (request, socket) => this.#onUpgrade(request, socket as Socket));
  }

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Sends packets over the client's current transport. */
  send(...packets: string[]): void {
    if (this.#webSocket) for (const packet of packets) this.#webSocket.write(text(packet));
    else {
      this.#toSend.push(...packets);
      this.#answerPoll();
    }
  }

  /** Waits until the client has sent `count` posts, frames or polls. */
  async until(what: 'polls' | 'posts' | 'frames', count: number): Promise<void> {
    while (this[what].length < count) await once(this, 'received');
  }

  close(): void {
    this.#webSocket?.destroy();
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #onRequest(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const recorded = describe(request, Buffer.concat(chunks).toString());
      if (request.method === 'POST') {
        this.posts.push(recorded);
        this.order.push(`POST ${recorded.body}`);
        response.writeHead(200, this.answerHeaders).end('ok');
        if (recorded.body === '40') this.send('40{"sid":"s"}');
      } else {
        this.polls.push(recorded);
        this.order.push('GET');
        this.#waiting = response;
        if (!recorded.target.includes('sid=')) this.#toSend.push(this.#handshake());
        this.#answerPoll();
        this.#answerProbe();
      }
      this.emit('received');
    });
  }

  /**
   * Replies to the probe when the namespace is open and another poll is pending. Every client then sends the same
   * requests.
   */
  #answerProbe(): void {
    if (!this.#waiting || !this.#probed || this.polls.length < POLLS_BEFORE_PROBE) return;
    this.#probed.write(text('3probe'));
    this.#probed = undefined;
    this.send('6');
  }

  #handshake(): string {
    const times = { pingInterval: 25_000, pingTimeout: 20_000, maxPayload: 100 };
    return `0${JSON.stringify({ sid: 'a b/1', upgrades: this.#offers, ...times })}`;
  }

  #answerPoll(): void {
    if (!this.#waiting || this.#toSend.length === 0) return;
    this.#waiting.writeHead(200, this.answerHeaders).end(this.#toSend.join('\x1e'));
    this.#waiting = undefined;
    this.#toSend = [];
  }

  #onUpgrade(request: IncomingMessage, socket: Socket): void {
    this.upgrades.push(describe(request, ''));
    this.order.push('upgrade');
    socket.on('error', () => {});
    socket.write(upgradeAnswer(Buffer.from(`Sec-WebSocket-Key: ${request.headers['sec-websocket-key']}\r\n`)));
    const received: Buffer[] = [];
    socket.on('data', (data) => {
      received.push(data);
      this.frames = clientFrames(received).map(({ opcode, payload }) => `${opcode} ${payload}`);
      const last = String(this.frames.at(-1));
      if (last === '1 2probe') {
        this.#probed = socket;
        this.#answerProbe();
      } else if (last === '1 5') this.#webSocket = socket;
      else if (last.startsWith('8')) socket.end(serverFrame(8, ''));
      this.emit('received');
    });
  }
}

/** Headers that intentionally differ between clients. */
const NOT_COMPARED = new Set(['user-agent', 'connection', 'sec-websocket-key']);

function describe({ url = '', rawHeaders }: IncomingMessage, body: string): Request {
  const headers: Record<string, string> = {};
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = String(rawHeaders[at]).toLowerCase();
    if (!NOT_COMPARED.has(name)) headers[name] = String(rawHeaders[at + 1]).replace(/:\d+$/, ':port');
  }
  // Replaces a parameter that differs in every request.
  return { target: url.replace(/([?&]t=)[a-z0-9]{6,8}(?=&|$)/, '$1<unique>'), headers, body };
}
