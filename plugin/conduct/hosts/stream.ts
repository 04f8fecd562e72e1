/**
 * Sends messages reliably between two processes: each message is delivered once and in order, even if the connection is
 * interrupted. Messages are numbered, kept until the other side acknowledges them, and sent again after a reconnect.
 * Invalid messages are skipped and reported.
 */
import { z } from 'zod';

/** The methods of a Socket.IO socket that a stream uses, on the client and on the server. */
export interface ReliableStreamSocket {
  connected: boolean;
  emit(event: 'message', number: number, message: unknown, onReceived: () => void): unknown;
  on(event: 'message', listener: (...received: unknown[]) => void): unknown;
}

export interface ReliableStreamOptions<Received> {
  schema: z.ZodType<Received>;
  onMessage(message: Received): void;
  /**
   * Called for an invalid message.
   * @param problem first validation error of the message, with its path
   */
  onMalformed(problem: string): void;
}

export class ReliableStream<Sent, Received> {
  readonly #options: ReliableStreamOptions<Received>;
  #socket: ReliableStreamSocket | undefined;
  #unacknowledged: { number: number; message: Sent }[] = [];
  #lastSent = 0;
  #lastReceived = 0;

  constructor(options: ReliableStreamOptions<Received>) {
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

  /** Starts to use a new connection. Messages that arrive on earlier connections are ignored afterwards. */
  attach(socket: ReliableStreamSocket): void {
    this.#socket = socket;
    socket.on('message', (number, message, acknowledge) => {
      if (typeof acknowledge === 'function') acknowledge();
      if (socket === this.#socket) this.#receive(number, message);
    });
    this.resend();
  }

  /** Sends unacknowledged messages again after a client has reconnected. The client's socket object stays the same. */
  resend(): void {
    const { connected = false } = this.#socket ?? {};
    if (connected)
      for (const numbered of this.#unacknowledged) this.#emit(this.#socket as ReliableStreamSocket, numbered);
  }

  #receive(number: unknown, message: unknown): void {
    const { schema, onMessage, onMalformed } = this.#options;
    // A message may arrive twice, but no message before it can be missing.
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

  #emit(socket: ReliableStreamSocket, { number, message }: { number: number; message: Sent }): void {
    socket.emit('message', number, message, () => {
      this.#unacknowledged = this.#unacknowledged.filter((sent) => sent.number > number);
    });
  }
}
