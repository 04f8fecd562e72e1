/**
 * Reliable messages between two processes: each is delivered once and in order, across reconnects. Messages are numbered, kept until
 * the other side acknowledges them, and sent again after a reconnect. Invalid messages are skipped and reported.
 */
import { z } from 'zod';

/** The parts of a Socket.IO socket, client or server, that a stream uses. */
export interface StreamSocket {
  connected: boolean;
  emit(event: 'message', number: number, message: unknown, onReceived: () => void): unknown;
  on(event: 'message', listener: (...received: unknown[]) => void): unknown;
}

export interface StreamOptions<Received> {
  schema: z.ZodType<Received>;
  onMessage(message: Received): void;
  /** @param problem first validation error of an invalid message, with its path */
  onMalformed(problem: string): void;
}

export class Stream<Sent, Received> {
  readonly #options: StreamOptions<Received>;
  #socket: StreamSocket | undefined;
  #unacknowledged: { number: number; message: Sent }[] = [];
  #lastSent = 0;
  #lastReceived = 0;

  constructor(options: StreamOptions<Received>) {
    this.#options = options;
  }

  /** Messages that the other side has not acknowledged. */
  get pending(): number {
    return this.#unacknowledged.length;
  }

  send(message: Sent): void {
    const numbered = { number: ++this.#lastSent, message };
    this.#unacknowledged.push(numbered);
    if (this.#socket?.connected) this.#emit(this.#socket, numbered);
  }

  /** Must be called for each new connection; messages of earlier connections are ignored from then on. */
  attach(socket: StreamSocket): void {
    this.#socket = socket;
    socket.on('message', (number, message, acknowledge) => {
      if (typeof acknowledge === 'function') acknowledge();
      if (socket === this.#socket) this.#receive(number, message);
    });
    this.resend();
  }

  /** Sends unacknowledged messages again. Called after a reconnect of a client, whose socket object stays the same. */
  resend(): void {
    const { connected = false } = this.#socket ?? {};
    if (connected) for (const numbered of this.#unacknowledged) this.#emit(this.#socket as StreamSocket, numbered);
  }

  #receive(number: unknown, message: unknown): void {
    const { schema, onMessage, onMalformed } = this.#options;
    // A resent message may be a duplicate, but a gap is impossible.
    if (typeof number === 'number' && number <= this.#lastReceived) return;
    if (number !== this.#lastReceived + 1) {
      onMalformed('its sequence number is not the next one');
      return;
    }
    this.#lastReceived = number;
    const parsed = schema.safeParse(message);
    if (parsed.success) onMessage(parsed.data);
    else onMalformed(z.prettifyError(parsed.error).split('\n').slice(0, 2).join(' '));
  }

  #emit(socket: StreamSocket, { number, message }: { number: number; message: Sent }): void {
    socket.emit('message', number, message, () => {
      this.#unacknowledged = this.#unacknowledged.filter((sent) => sent.number > number);
    });
  }
}
