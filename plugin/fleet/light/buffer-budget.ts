/**
 * Limits the bytes that all connections of a process buffer together: incomplete messages, and data that the server does not read. Without
 * a limit, a faulty server could exhaust the memory of the process over thousands of connections.
 */
import { ProtocolError } from './protocol-error.ts';
import type { Wire } from './sockets/wire.ts';

export const BUFFERED_BYTES = 256 * 1024 ** 2;

export class BufferBudget {
  #heldBytes = 0;
  #unsentBytes = 0;
  /** Unsent bytes by wire, as of the last check; only wires with unsent bytes. */
  readonly #unsent = new Map<Wire, number>();

  /** Reserves bytes. @throws ProtocolError `buffers_full`, without reserving anything */
  hold(bytes: number): void {
    if (this.#isFullWith(bytes)) {
      const message = `the connections of this process buffer ${BUFFERED_BYTES} bytes of incomplete or unread data, which is the limit`;
      throw new ProtocolError({ cause: 'buffers_full', message }, 'buffers full');
    }
    this.#heldBytes += bytes;
  }

  /** Releases bytes reserved by `hold`. */
  release(bytes: number): void {
    this.#heldBytes -= bytes;
  }

  /** Counts a wire's unsent bytes, after a write that the kernel did not accept completely. @returns false if the budget is exceeded */
  countUnsent(wire: Wire): boolean {
    this.#unsentBytes += wire.writableLength - (this.#unsent.get(wire) ?? 0);
    this.#unsent.set(wire, wire.writableLength);
    return !this.#isFullWith(0);
  }

  /** Removes a destroyed wire. */
  forget(wire: Wire): void {
    this.#unsentBytes -= this.#unsent.get(wire) ?? 0;
    this.#unsent.delete(wire);
  }

  /** Updates all unsent bytes, because wires do not report when they have sent them. */
  recount(): void {
    for (const [wire, previousBytes] of this.#unsent) {
      const currentBytes = wire.writableLength;
      this.#unsentBytes += currentBytes - previousBytes;
      if (currentBytes === 0) this.#unsent.delete(wire);
      else this.#unsent.set(wire, currentBytes);
    }
  }

  get usedBytes(): number {
    return this.#heldBytes + this.#unsentBytes;
  }

  #isFullWith(bytes: number): boolean {
    if (this.usedBytes + bytes <= BUFFERED_BYTES) return false;
    this.recount();
    return this.usedBytes + bytes > BUFFERED_BYTES;
  }
}
