/**
 * What the connections of a process may hold together: messages whose end has not arrived, and data that the server does
 * not read. Without such a limit, a server that is wrong in the same way on thousands of connections ends the process.
 */
import { ProtocolError } from './protocol-error.ts';
import type { Wire } from './sockets/wire.ts';

export const BUFFERED_BYTES = 256 * 1024 ** 2;

export class BufferBudget {
  #heldBytes = 0;
  #unsentBytes = 0;
  /** Wires that had something left to send when it was last looked at, and how much. */
  readonly #unsent = new Map<Wire, number>();

  /** @throws ProtocolError `buffers_full`; then nothing is counted */
  hold(bytes: number): void {
    if (this.#isFullWith(bytes)) {
      const message = `the connections of this process hold ${BUFFERED_BYTES} bytes that are unfinished or unread`;
      throw new ProtocolError({ cause: 'buffers_full', message }, 'buffers full');
    }
    this.#heldBytes += bytes;
  }

  /** Counterpart of `hold`. */
  release(bytes: number): void {
    this.#heldBytes -= bytes;
  }

  /** After a write that the kernel did not take as a whole. @returns false if that was too much */
  sends(wire: Wire): boolean {
    this.#unsentBytes += wire.writableLength - (this.#unsent.get(wire) ?? 0);
    this.#unsent.set(wire, wire.writableLength);
    return !this.#isFullWith(0);
  }

  /** The wire is destroyed. */
  forget(wire: Wire): void {
    this.#unsentBytes -= this.#unsent.get(wire) ?? 0;
    this.#unsent.delete(wire);
  }

  /** Wires do not report what they have sent since. */
  recount(): void {
    for (const [wire, before] of this.#unsent) {
      const now = wire.writableLength;
      this.#unsentBytes += now - before;
      if (now === 0) this.#unsent.delete(wire);
      else this.#unsent.set(wire, now);
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
