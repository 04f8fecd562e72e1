/**
 * Messages between two processes, over a connection that may break and come back: each arrives once, and in order. They are
 * numbered, kept until the other side has acknowledged them, and sent again after a break. What is no message is left out.
 */
import { z } from 'zod';

/** The part of a Socket.IO socket, of either side, that a stream needs. */
export interface StreamSocket {
  connected: boolean;
  emit(event: 'message', number: number, message: unknown, onReceived: () => void): unknown;
  on(event: 'message', listener: (...received: unknown[]) => void): unknown;
}

export interface StreamOptions<Received> {
  schema: z.ZodType<Received>;
  onMessage(message: Received): void;
  /** The other side has sent something else. @param problem its first mistake, with its place */
  onMalformed(problem: string): void;
}

export class Stream<Sent, Received> {
  readonly #options: StreamOptions<Received>;
  #socket: StreamSocket | undefined;
  #unacknowledged: { number: number; message: Sent }[] = [];
  #sent = 0;
  #received = 0;

  constructor(options: StreamOptions<Received>) {
    this.#options = options;
  }

  /** Messages that the other side has not acknowledged. */
  get pending(): number {
    return this.#unacknowledged.length;
  }

  send(message: Sent): void {
    const numbered = { number: ++this.#sent, message };
    this.#unacknowledged.push(numbered);
    if (this.#socket?.connected) this.#emit(this.#socket, numbered);
  }

  /** To be called for each new connection; those before it count no more. */
  attach(socket: StreamSocket): void {
    this.#socket = socket;
    socket.on('message', (number, message, received) => {
      if (typeof received === 'function') received();
      if (socket === this.#socket) this.#receive(number, message);
    });
    this.resend();
  }

  /** For a client's socket, which stays the same when it has connected again. */
  resend(): void {
    const { connected = false } = this.#socket ?? {};
    if (connected) for (const numbered of this.#unacknowledged) this.#emit(this.#socket as StreamSocket, numbered);
  }

  #receive(number: unknown, message: unknown): void {
    const { schema, onMessage, onMalformed } = this.#options;
    // Lower ones have arrived already; none can have been left out.
    if (typeof number === 'number' && number <= this.#received) return;
    if (number !== this.#received + 1) {
      onMalformed('its number is not the next one');
      return;
    }
    this.#received = number;
    const parsed = schema.safeParse(message);
    if (parsed.success) onMessage(parsed.data);
    else onMalformed(z.prettifyError(parsed.error).split('\n').slice(0, 2).join(' '));
  }

  #emit(socket: StreamSocket, { number, message }: { number: number; message: Sent }): void {
    socket.emit('message', number, message, () => {
      this.#unacknowledged = this.#unacknowledged.filter((one) => one.number > number);
    });
  }
}
