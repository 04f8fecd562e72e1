/** How much an engine.io-client keeps for a server that does not read. */
import type { Manager } from 'socket.io-client';

type Engine = Manager['engine'];

export class Unsent {
  readonly #engine: Engine;
  /** In the packets that wait for a transport. */
  #queuedBytes = 0;

  constructor(engine: Engine) {
    this.#engine = engine;
    engine.on('packetCreate', ({ data }: { data?: unknown }) => {
      this.#queuedBytes += sizeOf(data);
    });
    engine.on('flush', () => this.#recount());
    engine.on('drain', () => this.#recount());
  }

  get bytes(): number {
    const { ws } = this.#engine.transport as { ws?: { bufferedAmount: number } };
    // A WebSocket takes all packets at once; polling takes more when its last request has been answered.
    return ws ? ws.bufferedAmount : this.#queuedBytes;
  }

  #recount(): void {
    this.#queuedBytes = 0;
    for (const { data } of this.#engine.writeBuffer) this.#queuedBytes += sizeOf(data);
  }
}

/** Payload bytes only: the overhead of HTTP and WebSocket is not known here. */
export function sizeOf(data: unknown): number {
  if (typeof data === 'string') return Buffer.byteLength(data);
  return data instanceof ArrayBuffer || ArrayBuffer.isView(data) ? data.byteLength : 0;
}
