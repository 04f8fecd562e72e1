/**
 * Messages between two processes, over a connection that may break and come back: each arrives once, and in order. They are
 * numbered, kept until the other side has acknowledged them, and sent again after a break.
 */

/** The part of a Socket.IO socket, of either side, that a stream needs. */
export interface StreamSocket {
  connected: boolean;
  emit(event: 'message', number: number, message: unknown, onReceived: () => void): unknown;
  on(event: 'message', listener: (number: number, message: never, received: () => void) => void): unknown;
}

export class Stream<Sent, Received> {
  readonly #onMessage: (message: Received) => void;
  #socket: StreamSocket | undefined;
  #unacknowledged: { number: number; message: Sent }[] = [];
  #sent = 0;
  #received = 0;

  constructor(onMessage: (message: Received) => void) {
    this.#onMessage = onMessage;
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
    socket.on('message', (number: number, message: Received, received: () => void) => {
      received();
      if (socket !== this.#socket || number <= this.#received) return;
      this.#received = number;
      this.#onMessage(message);
    });
    this.resend();
  }

  /** For a client's socket, which stays the same when it has connected again. */
  resend(): void {
    const { connected = false } = this.#socket ?? {};
    if (connected) for (const numbered of this.#unacknowledged) this.#emit(this.#socket as StreamSocket, numbered);
  }

  #emit(socket: StreamSocket, { number, message }: { number: number; message: Sent }): void {
    socket.emit('message', number, message, () => {
      this.#unacknowledged = this.#unacknowledged.filter((one) => one.number > number);
    });
  }
}
