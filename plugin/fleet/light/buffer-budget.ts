/**
 * Limit of the bytes that all connections of a process buffer together: incomplete messages, and data that the server
 * has not read. Without the limit, a faulty server could exhaust the memory of the process.
 */
import { ProtocolError } from './protocol-error.ts';
import type { Wire } from './sockets/wire.ts';

export const BUFFERED_BYTES = 256 * 1024 ** 2;

export class BufferBudget {
  #heldBytes = 0;
  #unsentBytes = 0;
  /** Unsent bytes of each socket when they were last counted. Only sockets with unsent bytes have an entry. */
  readonly #unsent = new Map<Wire, number>();

  /**
   * Reserves bytes.
   * @throws ProtocolError `buffers_full` if the limit is exceeded; nothing is reserved then
   */
  hold(bytes: number): void {
    if (this.#isFullWith(bytes)) {
      const message = `the connections of this process buffer ${BUFFERED_BYTES} bytes of incomplete or unread data, which is the limit`;
      throw new ProtocolError({ cause: 'buffers_full', message }, 'buffers full');
    }
    this.#heldBytes += bytes;
  }

  release(bytes: number): void {
    this.#heldBytes -= bytes;
  }

  /**
   * Counts a socket's unsent bytes. Called after a write that the kernel accepted only in part.
   * @returns false if the limit is exceeded
   */
  countUnsent(wire: Wire): boolean {
    this.#unsentBytes += wire.writableLength - (this.#unsent.get(wire) ?? 0);
    this.#unsent.set(wire, wire.writableLength);
    return !this.#isFullWith(0);
  }

  /** Removes the unsent bytes of a destroyed socket from the count. */
  forget(wire: Wire): void {
    this.#unsentBytes -= this.#unsent.get(wire) ?? 0;
    this.#unsent.delete(wire);
  }

  /** Updates the unsent bytes of all sockets. Sockets do not report when their data has been sent. */
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
